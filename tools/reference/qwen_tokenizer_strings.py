"""The strings that the Qwen tokenizer is compared on: those of the CLIP tokenizer, and more where its word pattern differs."""
import random
import unicodedata

from tokenizer_strings import strings as clip_strings

ADDED = """<|endoftext|> <|im_start|> <|im_end|> <|object_ref_start|> <|object_ref_end|> <|box_start|> <|box_end|> <|quad_start|> <|quad_end|>
<|vision_start|> <|vision_end|> <|vision_pad|> <|image_pad|> <|video_pad|> <tool_call> </tool_call> <|fim_prefix|> <|fim_middle|> <|fim_suffix|>
<|fim_pad|> <|repo_name|> <|file_sep|> <tool_response> </tool_response> <think> </think>""".split()

# Line ends, spaces before words, and what may stand before letters: each alternative of the pattern against each other.
SPACES = [a + b + c for a in ("", "a", "1", ".", "é") for b in (" ", "  ", "   ", "\n", "\r\n", " \n", "\n ", " \n ", "\n\n", "\t", "\t\n\t", "\u3000", "\u00a0\n", "\u2028", "\x0b\n", "\x85 ")
          for c in ("", "b", "2", "!", "\u0301", "猫")]
PREFIXED = [p + w for p in " \t\n\r\x00.!-_'\"(/\\#@😀\u0301\u200d\u00a0\u3000²½" for w in ("word", "слово", "猫", "اهلا", "1a", "..", "'s")]
CONTRACTED = [q + e + t for q in ("'", "’", "x'", " '", "''", "1'") for e in ("s", "S", "\u017f", "t", "re", "RE", "rE", "ve", "m", "ll", "lL", "d", "x", "r", "l", "v") for t in ("", "t", " ")]
SYMBOLS = ["...\n\n", " ...\r\n x", "!\n!", "a.\nb", " ?!\n \n", "))))\n", "{\n  \"k\": [1, 2]\n}\n", "x = y;\r\n\ty++;\r\n", "# title\n\n* a\n* b\n\n\n", "1.5e-3, 10%\n", "a\u0301\n", "👍🏽\n\n", "—\r—\n\r", "\r\r\n\n\r", "if (x) {\n    return 'y';\n}"]
DIGITS = ["2026年11月30日", "٣٤٥ ۳۴۵ ३४५ ๓๔๕ ၃၄၅ ៣៤៥ 三四五 ３４５ 𝟛𝟜𝟝", "x1y22z333", "½¾⅓ ⅷⅨ ①⓪ ㊿ ㉈", "1\u20e32\ufe0f\u20e3", "10⁶ m²", "0\u03010"]
PROSE = ["A cinematic photo of a red fox in snow, 35mm, f/1.8, golden hour; \"WELCOME\" on the sign.", "Ein Bär, der über die Brücke läuft: »Grüß Gott!«", "Un château de l'époque, où l'on a planté des œillets.",
         "一只穿着宇航服的猫，站在月球表面，背景是地球，电影级光影。", "夕暮れの東京、雨上がりの路地にネオンが映る。「営業中」の看板。", "비 오는 날 우산을 쓴 소녀, 수채화 스타일", "Девушка с жемчужной серёжкой, масло, холст — XVII век", "قطة سوداء على سطح المنزل تحت ضوء القمر",
         "बारिश में नाचता हुआ मोर, तेल चित्र", "แมวสีส้มนั่งอยู่บนกำแพงวัด ยามเช้า", "חתול שחור על גג אדום", "Γάτα στο παράθυρο, φως του απογεύματος", "một con mèo ngồi trên mái nhà, ảnh chụp", "ქართული ანბანი ქვაზე", "Հայկական լեռնաշխարհ", "አማርኛ ጽሑፍ በግድግዳ ላይ", "தமிழ் எழுத்து சுவரில்", "មនុស្សឈរលើភ្នំ", "ကြောင်တစ်ကောင်"]


def with_added_tokens():
    whole = [a for a in ADDED] + [f"x{a}y" for a in ADDED] + [f" {a} \n" for a in ADDED]
    broken = ["<|im_end|", "<|im_end |>", "<|IM_END|>", "<|im_start|>system\nYou are.<|im_end|>\n<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n", "<|im_start|><|im_start|>", "<<|im_end|>>", "<|im_<|im_end|>end|>", "e<|im_end|>\u0301",
              "<|im_end|>\n\nx", "a  <|im_end|>  b", "it<|im_end|>'s", "<think>\n\n</think>\n\n", "<think", "</think>\u0338", "<tool_call>{\"a\": 1}</tool_call>", "<|image_pad|>" * 20, "<|endoftext|>\u0338", "<|im_start|>\u0301"]
    return whole + broken


def mixed(count, seed):
    """Random strings over pools in which every kind of character meets every other, and over all assigned characters."""
    r = random.Random(seed)
    close = list("abXZ 019 .,!?'’\"-()\n\r\t") + [" ", "  ", "\n", "\u00a0", "\u3000", "\u0301", "é", "ß", "猫", "が", "한", "م", "क", "ก", "😀", "\u200d", "½", "٣", "'s", "'LL", "\x00", "<|im_end|>"]
    assigned = [chr(c) for c in range(0x20000) if unicodedata.category(chr(c)) not in ("Cn", "Cs", "Co")]
    out = []
    for i in range(count):
        pool = assigned if i % 3 == 2 else close
        out.append("".join(r.choice(pool) for _ in range(r.randint(1, 28))))
    return out


def strings(random_count=300, seed=7):
    long = ["a" * 300, "ab" * 150, " " * 200, "\n" * 100, " \n" * 60, "!" * 150, "1" * 90, "猫" * 90, "😀" * 40, "\u0301" * 50, "x" + " " * 100 + "y", "word " * 60]
    out = clip_strings() + SPACES + PREFIXED + CONTRACTED + SYMBOLS + DIGITS + PROSE + with_added_tokens() + long + mixed(random_count, seed)
    return list(dict.fromkeys(out))


if __name__ == "__main__":
    print(len(strings()))
