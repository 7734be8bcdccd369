"""The strings that the tokenizers are compared on: one list, made by hand and by a few rules, always in the same order."""
import random

PLAIN = """a photo of a cat|a red apple on a blue background|An Astronaut Riding a HORSE on Mars, 4k, highly detailed!!!|hello world|Hello, World!
masterpiece, best quality, (1girl:1.2), [bad hands], trending on artstation|8k uhd, dslr, soft lighting|greg rutkowski and alphonse mucha
three bananas on a purple background|a rocket left of a moon|a cat and a dog|antidisestablishmentarianism|pneumonoultramicroscopicsilicovolcanoconiosis
supercalifragilisticexpialidocious|jack-o-lantern|state-of-the-art|e.g. i.e. etc.|C++20 & C#|foo_bar_baz|__init__|snake_case and camelCase and PascalCase
https://example.com/a?b=c&d=e#frag|me@example.com|#hashtag @mention|~/path/to/file.txt|C:\\Windows\\System32|50% off!|$9.99|£5 €6 ¥7 ₹8|1+1=2|x^2 + y^2 = z^2
a--b---c|...|. . .|?!?!|!!!???|"quoted"|'single'|`code`|«guillemets»|“curly” ‘quotes’|(parens) [brackets] {braces} <angles>|a/b\\c|a|ab|abc|I|me & you|rock'n'roll""".replace("\n", "|").split("|")

CONTRACTIONS = """it's|IT'S|don't|they're|we've|I'm|he'll|she'd|'s|'t|'re|'ve|'m|'ll|'d|''s|'s's|'sx|'tis|o'clock|cats'|y'all'd've|'LL|'Re|it’s|don’t|'|''|'''|'a|'1|'st|'lla|'mm|'ree|x'd1|'d'|s's't're""".split("|")

NUMBERS = """0|1|12|123|1234567890|3.14159|1,000,000|1e-5|0x1F|007|2nd|3rd|4th|a1b2c3|1a|a1|v1.5|²³¹|½ ¼ ¾|Ⅷ ⅳ|①②③|٠١٢٣|०१२|๑๒๓|一二三|〇|𝟘𝟙𝟚|1️⃣|10⁻³|¼cup|x²|H₂O|№5|12:34:56|2026-11-29|-1|+1|±1""".split("|")

SPACES = ["", " ", "  ", "\t", "\n", "\r\n", " a", "a ", "  a  b  ", "a\tb", "a\nb", "a\r\nb", "a\u00a0b", "a\u2003b", "a\u2009b", "a\u3000b", "a\u200bb", "a\u200cb", "a\u200db",
          "a\ufeffb", "\ufeffa", "a\u1680b", "a\u2028b", "a\u2029b", "a\u0085b", "a\u000bb", "a\u000cb", "a\u180eb", "a\u202fb", "a\u205fb", "a\u2060b", "a\u001cb", "a\u001fb",
          "\n\n\n", " \t\n ", "a \u00a0 b", "a  's", "! !", "!  !", "1 2", "a\u00adb"]

CONTROLS = ["\x00", "a\x00b", "\x01\x02", "a\x07b", "\x1b[31mred\x1b[0m", "\x7f", "a\x7fb", "\x80", "\x9f", "a\x85", "\x08back", "\ufffd", "a\ufffdb", "\ufffe", "\uffff", "\U0010ffff", "\ue000", "\U000f0000", "\u061c", "\u202eabc\u202c",
            "\u2066x\u2069", "\ufff9a\ufffab\ufffb", "\u0378", "\U0001faff", "\U0003ffff"]

LATIN = """café|cafe\u0301|CAFÉ|CAFE\u0301|naïve|nai\u0308ve|Ångström|A\u030angstro\u0308m|\u212b|Ω|\u2126|K|\u212a|résumé|façade|piñata|pin\u0303ata|smörgåsbord|Straße|STRASSE|STRAẞE|ﬁne ﬂow|ﬃ|Ǆ ǅ ǆ|Ĳ ĳ|Œuvre œuf|Æther|Þórr|ðæt
Đà Nẵng|Nguyễn|Nguye\u0302\u0303n|Nguye\u0303\u0302n|ệ|e\u0323\u0302|e\u0302\u0323|ȩ́|e\u0327\u0301|e\u0301\u0327|İstanbul|ISTANBUL|ıstanbul|İ|i\u0307|I\u0307|ŉ|ǰ|ΐ|ŸÿŶ|Łódź|źdźbło|Žluťoučký kůň|Čapek|ĦĥĤ|ŒŠŽ|ÀÁÂÃÄÅÆÇÈÉÊË|ÌÍÎÏÐÑÒÓÔÕÖ×ØÙÚÛÜÝÞß|àáâãäåæçèéêë|ìíîïðñòóôõö÷øùúûüýþÿ|ſ|ẛ|ẛ\u0323|ₐₑₒ|ᵃᵇᶜ|ª º|Ａｂｃ１２３！|ℌℍℂ|𝐀𝐛𝑪|𝓗𝓮𝓵𝓵𝓸|🅰🅱|Ⓐⓑ|ᴀʙᴄ""".replace("\n", "|").split("|")

SCRIPTS = """Привет мир|ПРИВЕТ МИР|Ёжик ёж|е\u0308|й|и\u0306|Їжак ґанок|Ђорђе Љубав|Ӏ|Ꙗ|Γειά σου Κόσμε|ΓΕΙΆ ΣΟΥ|ΟΔΥΣΣΕΥΣ|Σ|ς|σς Σσ|ΑΣ ΑΣΑ|ᾳ ᾼ|ᾴ|α\u0313\u0301\u0345|Ὀδυσσεύς|ΐ|ι\u0308\u0301
שלום עולם|שָׁלוֹם|ש\u05c1\u05b8|ש\u05b8\u05c1|مرحبا بالعالم|السَّلامُ عَلَيْكُمْ|\u0644\u0627|ﷺ|ﻻ|ـ|پارسی|اُردُو|ހެލޯ|ܫܠܡܐ|नमस्ते दुनिया|क़|क\u093c|ক\u09bc|ড়|हिन्दी|বাংলা|কো|ক\u09c7\u09be|ਪੰਜਾਬੀ|ગુજરાતી|ଓଡ଼ିଆ|தமிழ்|கொ|க\u0bc6\u0bbe|తెలుగు|ಕನ್ನಡ|മലയാളം|සිංහල|සෝ
สวัสดีชาวโลก|น้ำ|ພາສາລາວ|བོད་ཡིག|\u0f73|\u0f71\u0f72|မြန်မာ|ភាសាខ្មែរ|ქართული|ᲥᲐᲠᲗᲣᲚᲘ|Ⴀⴀ|Հայերեն|և|አማርኛ|ᏣᎳᎩ|ꮳꮃꭹ|ᐃᓄᒃᑎᑐᑦ|ᚠᚢᚦ|ᛁᛊ|ⲁⲃⲅ|ⵜⵉⴼⵉⵏⴰⵖ|ꦗꦮ|ᠮᠣᠩᠭᠣᠯ|你好世界|世界，你好！|中文 English 混合|繁體中文|猫と犬|ねこ|ネコ|ﾈｺ|が|か\u3099|ガ|カ\u3099|ﾊﾞ|ぱ|は\u309a|東京タワー、夜景。|「引用」|々〆ヶ|한국어|\u1112\u1161\u11ab|각|\u1100\u1161\u11a8|가\u11a8|\u1100\u1161|\uac00|힣|㈜|㍿|㌔|豈|\uf900|金|\ufa0a|𠮷野家|𪚥|\U0002f800|ㄅㄆㄇ|ꀀꀁ|𐌰𐌱|𐐀𐐨|𞤀𞤢|𑀅|𓀀𓁐|𝄞|𝅗𝅥|\U0001d15e""".replace("\n", "|").split("|")

EMOJI = """😀|😀😃😄|a 😀 b|a😀b|👍🏽|👩‍👩‍👧‍👦|👨🏻‍🚀|🏳️‍🌈|🏴‍☠️|🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f|🇮🇹🇯🇵|🇮|❤️|❤|☺︎|☺️|#️⃣|*️⃣|©®™|→←↑↓|★☆✓✗|♠♥♦♣|🤷🏽‍♀️|🧑‍🤝‍🧑|🫠🫡🫥|⌨️💻🖥|🎉🎉🎉|🐱🐶 on 🌙|╔═╗║|█▓▒░|⠓⠑⠇|∑∫√∞≠≈|A∩B∪C|⟨x|y⟩|‽⸘|—–-‐‑|… ‥|•·‣|†‡§¶|°C ℃ ℉|‰|¿¡|\u0301|\u0301\u0302|a\u0301\u0302\u0303|!\u0301|1\u0301|\u20dd|\ufe0f|\u200d|\u034f|a\u034f\u0301|Z͑ͫ̓ͪ̂ͫ̽͏̴̙̤̞͉͚̯̞̠͍A̴̵̜̰͔ͫ͗͢L̠ͨͧͩ͘G̴̻͈͍͔̹̑͗̎̅͛́Ǫ̵̹̻̝̳͂̌̌͘""".split("|")

SPECIALS = """<|startoftext|>|<|endoftext|>|<|startoftext|>a cat<|endoftext|>|a<|endoftext|>b|a <|endoftext|> b|<|endoftext|><|endoftext|>|<|STARTOFTEXT|>|<|EndOfText|>|< |endoftext| >|<|endoftext|<|endoftext|>|<|endoftext|>'s|it<|endoftext|>'s
<|pad|>|<pad>|[CLS]|<unk>|</w>|a</w>|Ġa|Ġ|Ċ|ġ|!</w>|<|startoftext|> <|startoftext|>|e<|endoftext|>\u0301|  <|endoftext|>  x|\u0120cat|ÃĤ|Â©|<|endoftext|>\n<|endoftext|>x|\u017fpecial <|\u017ftartofte\u0078t|>""".replace("\n", "|")


def specials():
    """SPECIALS holds bars itself: split only at those that are not part of a special token."""
    marked = SPECIALS
    for word in ("startoftext", "endoftext", "STARTOFTEXT", "EndOfText", "pad", "\u017ftartoftext"):
        marked = marked.replace(f"<|{word}|>", f"<\u0002{word}\u0002>").replace(f"<|{word}", f"<\u0002{word}").replace(f"|{word}|", f"\u0002{word}\u0002")
    return [s.replace("\u0002", "|") for s in marked.split("|")]


def mixed(count):
    """Random strings over a pool in which every kind of character meets every other."""
    r = random.Random(5)
    pool = list("abcxyzABCXYZ0189 '’.,!?-_()<>|&\t\n") + list("éÉßİıΣσςЖж中あア한\u0301\u0308\u0327\u093c\u200d\ufe0f\u00a0\u3000👍🏽😀½²٣ǅﬁ\u212b\u0345\x00\x1f") + [
        "'s", "'LL", "<|endoftext|>", "the", "cat", "ing"]
    return ["".join(r.choice(pool) for _ in range(r.randint(1, 24))) for _ in range(count)]


def strings():
    long_words = ["a" * 200, "A" * 77, "ab" * 100, "!" * 150, "1" * 90, "é" * 60, "中" * 90, "😀" * 40, " ".join(["cat"] * 100), "x" * 20 + "y" * 20, "qzxj" * 10, "cat " * 3 + "\n" * 5]
    more = ["a <|StartOfText|> b", "x<|ENDOFTEXT|>y<|endoftext|>", "<|endoftext|>\u0338", "a <|endoftext|>\u0338 b", "\u017f<|endof\u017fext|>", "<|endoftext|>\u0301\u0338"]
    out = PLAIN + CONTRACTIONS + NUMBERS + SPACES + CONTROLS + LATIN + SCRIPTS + EMOJI + specials() + long_words + more + mixed(150)
    return list(dict.fromkeys(out))


if __name__ == "__main__":
    print(len(strings()))
