#!/usr/bin/env python3
"""Build the training artwork: rasterise Noto emoji (Apache-2.0, npm @iconify-json/noto) and name them.

Inputs (npm): @iconify-json/noto (SVG bodies), unicode-emoji-json (names, groups).
Needs: rsvg-convert (Debian librsvg2-bin), python3-pil, python3-numpy.
Output: <out>/sprites.zip  (0000.png ... 256x256 RGBA)   <out>/objects.json (names, aliases, flags)
Usage: prep_data.py NODE_MODULES OUT
"""
import json, os, subprocess, sys, zipfile, io, re
from concurrent.futures import ThreadPoolExecutor
from PIL import Image
import numpy as np

NM, OUT = sys.argv[1], sys.argv[2]
SIZE = 256

EXCLUDE = set(l.strip() for l in """
face in clouds;head shaking horizontally;head shaking vertically;dotted line face;face without mouth
kissing face with closed eyes;kissing face with smiling eyes;kissing face;smiling face with tear;face with open eyes and hand over mouth
grinning face with big eyes;beaming face with smiling eyes;face exhaling;lying face;shaking face;pensive face;distorted face
face with diagonal mouth;slightly frowning face;hushed face;astonished face;face holding back tears;frowning face with open mouth
anguished face;fearful face;sad but relieved face;confounded face;persevering face;disappointed face;downcast face with sweat
tired face;weary face;expressionless face;unamused face;relieved face;face with bags under eyes;worried face;smirking face
face with hand over mouth;face with peeking eye;squinting face with tongue;winking face with tongue;grinning face with sweat
slightly smiling face;anger symbol;fight cloud;dashing away;hole;eye in speech bubble;left speech bubble;right anger bubble;ZZZ
heart exclamation;heart decoration;two hearts;revolving hearts;growing heart;beating heart;mending heart;light blue heart;grey heart
kiss mark;hundred points;dizzy;cat with wry smile;pouting cat;kissing cat;weary cat;grinning cat with smiling eyes;anxious face with sweat
monkey face;orangutan;guide dog;service dog;front-facing baby chick;goose;pig nose;wing;worm
globe showing Americas;globe showing Asia-Australia;map of Japan;landslide;national park;building construction;derelict house
Japanese post office;love hotel;hotel;bank;convenience store;department store;kaaba;foggy;cityscape at dusk;bridge at night
carousel horse;playground slide;railway car;high-speed train;metro;light rail;station;monorail;mountain railway;tram car;oncoming bus
oncoming police car;oncoming taxi;oncoming automobile;bus stop;motorway;railway track;construction;small airplane;airplane departure
airplane arrival;seat;suspension railway;mountain cableway;hourglass not done;twelve o’clock;twelve-thirty;one o’clock;one-thirty
two o’clock;two-thirty;three-thirty;four o’clock;four-thirty;five o’clock;five-thirty;six o’clock;six-thirty;seven o’clock
seven-thirty;eight o’clock;eight-thirty;nine o’clock;nine-thirty;ten o’clock;ten-thirty;eleven o’clock;eleven-thirty
waxing crescent moon;first quarter moon;waxing gibbous moon;waning gibbous moon;last quarter moon;waning crescent moon;new moon face
first quarter moon face;last quarter moon face;milky way;sun behind small cloud;sun behind large cloud;sun behind rain cloud
umbrella on ground;snowman without snow;fog;wind face;timer clock;passenger ship;motor boat;minibus;sunrise
moon viewing ceremony;1st place medal;2nd place medal;3rd place medal;heart suit;spade suit;diamond suit;club suit;chess pawn
cricket game;field hockey;lacrosse;goal net;tanabata tree;pine decoration;carp streamer;reminder ribbon;admission tickets
knot;mahjong red dragon;rugby football;softball;curling stone
speaker low volume;speaker medium volume;muted speaker;bell with slash;mobile phone with arrow;low battery;dvd;camera with flash
magnifying glass tilted right;notebook with decorative cover;notebook;ledger;page with curl;yen banknote;euro banknote;pound banknote
chart increasing with yen;incoming envelope;envelope with arrow;outbox tray;inbox tray;closed mailbox with lowered flag
open mailbox with raised flag;open mailbox with lowered flag;e-mail;open file folder;card index dividers;tear-off calendar
spiral notepad;spiral calendar;card index;label;bookmark tabs;receipt;pager;videocassette;film frames;trackball;computer disk
locked with pen;locked with key;hammer and pick;hammer and wrench;broken chain;chains;link;white cane;clamp;thong sandal
clutch bag;briefs;sari;one-piece swimsuit;woman’s clothes;flat shoe;woman’s sandal;petri dish;funeral urn;coffin;cigarette
placard;identification card;control knobs;level slider;musical score;telephone receiver;memo;round pushpin;linked paperclips
fax machine;crutch;safety vest;hair pick;rescue worker’s helmet;military helmet;elevator;plunger;ballot box with ballot;hamsa
drop of blood;x-ray;mouse trap;safety pin;roll of paper;card file box;black nib;rolled-up newspaper;long drum;postal horn
fish cake with swirl;oden;tamale;falafel;shallow pan of food;pot of food;curry rice;mate;pouring liquid;clinking glasses;clinking beer mugs
stuffed flatbread;teacup without handle;rice cracker;dango;meat on bone;custard;root vegetable;leafy green;fork and knife;beverage box
oyster;sheaf of rice;leaf fluttering in wind;leafless tree;rosette;white flower;hyacinth;fallen leaf;black bird;moose;badger
transgender flag;white flag;black flag;crossed flags;triangular flag;pile of poo drop
""".replace('\n', ';').split(';') if l.strip())

PEOPLE = set(l.strip() for l in """
waving hand;raised hand;vulcan salute;OK hand;victory hand;crossed fingers;sign of the horns;call me hand;backhand index pointing left
backhand index pointing right;backhand index pointing up;backhand index pointing down;thumbs up;thumbs down;raised fist;oncoming fist
clapping hands;heart hands;handshake;folded hands;nail polish;flexed biceps;mechanical arm;mechanical leg;foot;ear;nose;brain
anatomical heart;lungs;tooth;bone;eyes;eye;tongue;mouth;baby;boy;girl;man;woman;old man;old woman;cook;astronaut;firefighter
police officer;detective;guard;ninja;construction worker;prince;princess;baby angel;Santa Claus;superhero;mage;fairy;vampire;mermaid
elf;genie;zombie;troll;woman dancing;man dancing;snowboarder;skier;person surfing;person biking;footprints;fingerprint;farmer;pilot
scientist;artist;singer;judge;student
""".replace('\n', ';').split(';') if l.strip())

SYMBOLS = set(l.strip() for l in """
red circle;orange circle;yellow circle;green circle;blue circle;purple circle;brown circle;black circle
red square;orange square;yellow square;green square;blue square;purple square;brown square;black large square
red triangle pointed up;large orange diamond;large blue diamond;check mark button;cross mark;red question mark;red exclamation mark
plus;recycling symbol;radioactive;biohazard;warning;no entry;peace symbol;yin yang;up arrow;down arrow;left arrow;right arrow
hollow red circle;infinity;musical note;check mark;prohibited;trident emblem;fleur-de-lis;menorah;wheel of dharma;star of David;latin cross
""".replace('\n', ';').split(';') if l.strip())

RENAME = {  # new main name ; aliases (only if unambiguous)
 'automobile': ('car', ['automobile']), 'deciduous tree': ('tree', ['deciduous tree']),
 'evergreen tree': ('pine tree', ['evergreen tree', 'fir tree']), 'honeybee': ('bee', ['honeybee']),
 'lady beetle': ('ladybug', ['ladybird']), 'sauropod': ('dinosaur', ['sauropod']), 'T-Rex': ('t-rex', ['tyrannosaurus']),
 'ear of corn': ('corn', ['ear of corn']), 'hot beverage': ('cup of coffee', ['coffee', 'cup of tea', 'hot beverage']),
 'cooking': ('fried egg', ['frying pan']), 'glass of milk': ('glass of milk', ['milk']), 'beer mug': ('beer mug', ['beer', 'mug of beer']),
 'wine glass': ('wine glass', ['glass of wine']), 'crescent moon': ('crescent moon', ['moon']), 'flying saucer': ('flying saucer', ['ufo']),
 'soccer ball': ('soccer ball', []), 'wrapped gift': ('gift', ['present', 'wrapped gift']), 'locomotive': ('steam locomotive', ['locomotive', 'steam train']),
 'delivery truck': ('truck', ['delivery truck']), 'articulated lorry': ('semi truck', ['lorry']), 'droplet': ('water drop', ['droplet']),
 'fire': ('fire', ['flame']), 'police car light': ('siren', ['police car light']), 'pile of poo': ('poop', ['pile of poo']),
 'jack-o-lantern': ('jack-o-lantern', ['pumpkin', 'halloween pumpkin']), 'red apple': ('red apple', ['apple']), 'kiwi fruit': ('kiwi', ['kiwi fruit']),
 'bread': ('bread', ['loaf of bread']), 'cheese wedge': ('cheese', ['cheese wedge']), 'poultry leg': ('chicken leg', ['drumstick']),
 'doughnut': ('donut', ['doughnut']), 'hamburger': ('hamburger', ['burger', 'cheeseburger']), 'french fries': ('french fries', ['fries']),
 'blowfish': ('pufferfish', ['blowfish']), 'baby chick': ('chick', ['baby chick']), 'optical disk': ('compact disc', ['cd']),
 'television': ('television', ['tv']), 'mobile phone': ('mobile phone', ['smartphone', 'cell phone']), 'gem stone': ('diamond', ['gem', 'gemstone']),
 'high voltage': ('lightning bolt', ['lightning']), 'collision': ('explosion', ['collision']), 'wastebasket': ('trash can', ['wastebasket', 'bin']),
 'game die': ('die', ['dice']), 'bullseye': ('target', ['bullseye', 'dartboard']), 'mage': ('wizard', ['mage']), 'Santa Claus': ('santa claus', ['santa']),
 'cooked rice': ('bowl of rice', ['rice']), 'spiral shell': ('seashell', ['shell']), 'hourglass done': ('hourglass', []), 'watch': ('wristwatch', ['watch']),
 'globe showing Europe-Africa': ('earth', ['globe', 'planet earth']), 'globe with meridians': ('blue globe grid', []), 'snow-capped mountain': ('snowy mountain', ['snow-capped mountain']),
 'ringed planet': ('saturn', ['ringed planet', 'planet']), 'sun': ('sun', []), 'night with stars': ('night city', ['city at night']),
 'police car': ('police car', []), 'fire engine': ('fire engine', ['fire truck']), 'sport utility vehicle': ('suv', ['blue car']),
 'racing car': ('race car', ['racing car']), 'motor scooter': ('scooter', ['motor scooter']), 'bicycle': ('bicycle', ['bike']),
 'passenger ship': ('cruise ship', []), 'ship': ('ship', ['ocean liner']), 'sailboat': ('sailboat', ['sailing boat']), 'airplane': ('airplane', ['plane', 'aeroplane']),
 'new moon': ('new moon', []), 'sun behind cloud': ('sun behind a cloud', ['partly cloudy sky']), 'cloud with lightning and rain': ('thunderstorm', ['storm cloud']),
 'cloud with rain': ('rain cloud', []), 'cloud with snow': ('snow cloud', []), 'cloud with lightning': ('lightning cloud', []),
 'umbrella with rain drops': ('umbrella in the rain', []), 'water wave': ('wave', ['ocean wave']), 'Christmas tree': ('christmas tree', []),
 'confetti ball': ('confetti ball', []), 'piñata': ('pinata', []), 'pool 8 ball': ('eight ball', ['billiard ball', 'pool ball']),
 'video game': ('game controller', ['gamepad', 'video game']), 'artist palette': ('palette', ['artist palette', 'paint palette']), 'sewing needle': ('needle and thread', ['sewing needle']),
 'yarn': ('ball of yarn', ['yarn']), 'thread': ('spool of thread', ['thread']), 'ping pong': ('ping pong paddle', ['table tennis']), 'badminton': ('badminton racket', ['badminton']),
 'tennis': ('tennis ball', ['tennis']), 'bowling': ('bowling ball', ['bowling pins']), 'diving mask': ('diving mask', ['snorkel']), 'military medal': ('military medal', []),
 'sports medal': ('gold medal', ['medal']), 'flag in hole': ('golf flag', ['golf hole']), 'flying disc': ('frisbee', ['flying disc']), 'water pistol': ('water gun', ['water pistol']),
 'american football': ('american football', []), 'framed picture': ('framed picture', ['painting']), 'performing arts': ('theater masks', ['performing arts']),
 't-shirt': ('t-shirt', ['shirt']), 'coat': ('coat', ['jacket']), 'man’s shoe': ('leather shoe', ["man's shoe"]), 'running shoe': ('sneaker', ['running shoe']),
 'woman’s boot': ('boot', ["woman's boot"]), 'high-heeled shoe': ('high heel', ['high-heeled shoe']), 'woman’s hat': ("sun hat", ["woman's hat"]), 'billed cap': ('baseball cap', ['cap']),
 'speaker high volume': ('speaker', []), 'loudspeaker': ('loudspeaker', []), 'musical notes': ('musical notes', []), 'musical keyboard': ('piano', ['musical keyboard', 'piano keyboard']),
 'laptop': ('laptop', ['laptop computer']), 'desktop computer': ('computer', ['desktop computer', 'monitor']), 'magnifying glass tilted left': ('magnifying glass', []),
 'closed book': ('red book', ['closed book']), 'page facing up': ('document', ['sheet of paper']), 'closed mailbox with raised flag': ('mailbox', []), 'postbox': ('postbox', ['red mailbox']),
 'dollar banknote': ('banknote', ['dollar bill']), 'package': ('cardboard box', ['package', 'box']), 'file folder': ('folder', ['file folder']), 'straight ruler': ('ruler', []),
 'triangular ruler': ('set square', ['triangular ruler']), 'locked': ('padlock', ['lock']), 'unlocked': ('open padlock', ['unlocked padlock']), 'carpentry saw': ('saw', ['handsaw']),
 'adhesive bandage': ('bandage', ['band-aid']), 'couch and lamp': ('couch and lamp', ['sofa']), 'pill': ('pill', ['capsule']), 'alembic': ('alembic', ['chemistry flask']),
 'headstone': ('gravestone', ['headstone', 'tombstone']), 'moai': ('moai statue', ['moai', 'easter island statue']), 'spouting whale': ('spouting whale', []), 'two-hump camel': ('two-hump camel', ['bactrian camel']),
 'blossom': ('yellow flower', ['blossom', 'flower']), 'four leaf clover': ('four leaf clover', ['clover']), 'nest with eggs': ('nest with eggs', []), 'lotus': ('lotus flower', ['lotus']),
 'seedling': ('seedling', ['sprout']), 'potted plant': ('potted plant', ['houseplant']), 'hot pepper': ('chili pepper', ['hot pepper']), 'green salad': ('salad', ['green salad']),
 'soft ice cream': ('ice cream cone', ['soft ice cream']), 'ice cream': ('bowl of ice cream', ['ice cream']), 'shortcake': ('strawberry cake', ['slice of cake', 'shortcake']),
 'steaming bowl': ('bowl of noodles', ['ramen', 'noodles']), 'bottle with popping cork': ('champagne bottle', ['champagne']), 'cocktail glass': ('cocktail glass', ['martini', 'cocktail']),
 'cup with straw': ('cup with straw', ['soda cup']), 'fork and knife with plate': ('plate with fork and knife', []), 'ice': ('ice cube', ['ice']), 'roasted sweet potato': ('sweet potato', []),
 'takeout box': ('takeout box', []), 'tumbler glass': ('glass of whiskey', ['whiskey']), 'bowl with spoon': ('bowl with spoon', []), 'brown mushroom': ('brown mushroom', []),
 'flexed biceps': ('flexed arm', ['flexed biceps', 'strong arm']), 'anatomical heart': ('anatomical heart', []), 'cook': ('chef', ['cook']), 'oncoming fist': ('fist', []),
 'backhand index pointing left': ('hand pointing left', []), 'backhand index pointing right': ('hand pointing right', []), 'backhand index pointing up': ('hand pointing up', []),
 'backhand index pointing down': ('hand pointing down', []), 'woman dancing': ('dancing woman', ['dancer']), 'man dancing': ('dancing man', []), 'person surfing': ('surfer', ['person surfing']),
 'person biking': ('cyclist', ['person biking']), 'sign of the horns': ('horns hand sign', ['rock on hand']), 'call me hand': ('call me hand', []), 'OK hand': ('ok hand', []),
 'black large square': ('black square', []), 'large orange diamond': ('orange diamond shape', []), 'large blue diamond': ('blue diamond shape', []), 'red triangle pointed up': ('red triangle', []),
 'hollow red circle': ('red ring', ['hollow red circle']), 'check mark button': ('green check mark', []), 'red question mark': ('question mark', ['red question mark']), 'red exclamation mark': ('exclamation mark', ['red exclamation mark']),
 'plus': ('plus sign', []), 'warning': ('warning sign', []), 'radioactive': ('radioactive sign', []), 'biohazard': ('biohazard sign', []), 'infinity': ('infinity sign', []), 'no entry': ('no entry sign', []),
 'prohibited': ('prohibited sign', []), 'latin cross': ('latin cross', []), 'star of David': ('star of david', []), 'Statue of Liberty': ('statue of liberty', []), 'Tokyo tower': ('tokyo tower', []),
 'mount fuji': ('mount fuji', []), 'Japanese castle': ('japanese castle', []), 'Japanese dolls': ('japanese dolls', []), 'mouse': ('mouse', []), 'rabbit': ('rabbit', ['bunny']), 'hippopotamus': ('hippopotamus', ['hippo']),
 'rhinoceros': ('rhinoceros', ['rhino']), 'chequered flag': ('checkered flag', ['chequered flag']), 'rainbow flag': ('rainbow flag', []), 'pirate flag': ('pirate flag', []), 'love letter': ('love letter', []),
 'sweat droplets': ('water droplets', []), 'speech balloon': ('speech bubble', []), 'thought balloon': ('thought bubble', []), 'skull and crossbones': ('skull and crossbones', []),
 'smiling face with sunglasses': ('face with sunglasses', ['cool face']), 'face with tears of joy': ('face with tears of joy', ['laughing face']), 'loudly crying face': ('sobbing face', ['loudly crying face']),
 'smiling face with heart-eyes': ('face with heart eyes', ['smiling face with heart-eyes']), 'enraged face': ('enraged face', ['red angry face']), 'microphone': ('microphone', []), 'studio microphone': ('studio microphone', []),
 'rock': ('rock', ['stone']), 'wood': ('wood log', ['log']), 'light bulb': ('light bulb', ['lightbulb']), 'gear': ('gear', ['cog']), 'syringe': ('syringe', ['needle']), 'deer': ('deer', ['stag']), 'seal': ('seal', []),
 'T-shirt': ('t-shirt', []), 'bow and arrow': ('bow and arrow', []), 'ring buoy': ('life buoy', ['ring buoy', 'life ring']), 'chart increasing': ('chart increasing', []), 'camping': ('campsite', ['camping']),
 'classical building': ('classical building', ['greek temple']), 'kick scooter': ('kick scooter', []), 'horizontal traffic light': ('horizontal traffic light', []), 'vertical traffic light': ('traffic light', []),
 'spaghetti': ('spaghetti', ['pasta']), 'birthday cake': ('birthday cake', ['cake']), 'bell': ('bell', []), 'bellhop bell': ('bellhop bell', []), 'three o’clock': ('clock', ['wall clock']), 'ox': ('ox', ['bull']),
 'snowflake': ('snowflake', []), 'baguette bread': ('baguette', ['baguette bread']), 'red paper lantern': ('red lantern', ['paper lantern']), 'folding hand fan': ('hand fan', []), 'joker': ('joker card', []), 'flower playing cards': ('playing card', []),
 'ice hockey': ('hockey stick', ['ice hockey']), 'martial arts uniform': ('karate uniform', []), 'level slider': ('slider', []), 'roller skate': ('roller skate', []), 'see-no-evil monkey': ('see-no-evil monkey', []),
 'red envelope': ('red envelope', []), 'ticket': ('ticket', []), 'running shirt': ('tank top', ['running shirt']), 'nut and bolt': ('nut and bolt', ['bolt']), 'satellite antenna': ('satellite dish', ['satellite antenna']),
 'balance scale': ('balance scale', ['scales']), 'diya lamp': ('oil lamp', ['diya lamp']), 'lotion bottle': ('lotion bottle', []), 'amphora': ('amphora', ['vase']), 'dragon face': ('dragon face', ['dragon head']),
 'bubbles': ('bubbles', []), 'money-mouth face': ('money-mouth face', []), 'fountain': ('fountain', []), 'house with garden': ('house with garden', []), 'houses': ('houses', []), 'empty nest': ('empty nest', ['nest']),
 'herb': ('green leaf', ['herb']), 'maple leaf': ('maple leaf', []), 'shamrock': ('shamrock', []), 'fallen leaf': ('fallen leaf', []), 'pea pod': ('pea pod', ['peas']), 'ginger root': ('ginger', ['ginger root']),
}
NO_COUNT_MASS = set("""corn;bread;cheese;bacon;fire;popcorn;salt;butter;broccoli;garlic;ginger;spaghetti;sushi;custard;sake;salad;lightning;earth;coral;
saturn;mount fuji;new moon;night city;statue of liberty;tokyo tower;dna;soap;french fries;santa claus;camping;rolling on the floor laughing;star-struck;face blowing a kiss;face savoring food;face vomiting;face screaming in fear;thumbs up;thumbs down;money with wings;chart increasing;chart decreasing;luggage;canned food;needle and thread;couch and lamp;bow and arrow;nut and bolt;hot springs;sunset;cityscape;wedding;nail polish;yin yang;wheel of dharma;star of david;moon cake;shaved ice;thunderstorm;fried shrimp;ice;rainbow;
""".replace('\n', '').split(';'))
IRREG = {'mouse': 'mice', 'knife': 'knives', 'wolf': 'wolves', 'leaf': 'leaves', 'die': 'dice', 'tooth': 'teeth', 'foot': 'feet', 'fish': 'fish', 'deer': 'deer', 'bison': 'bison',
         'ox': 'oxen', 'goose': 'geese', 'sheep': 'sheep', 'shrimp': 'shrimp', 'squid': 'squid', 'man': 'men', 'woman': 'women', 'loaf': 'loaves', 'scarf': 'scarves', 'elf': 'elves',
         'moose': 'moose', 'spacecraft': 'spacecraft', 'aircraft': 'aircraft', 'cactus': 'cacti', 'octopus': 'octopuses', 'hippopotamus': 'hippopotamuses', 'potato': 'potatoes', 'tomato': 'tomatoes',
         'mango': 'mangoes', 'avocado': 'avocados', 'taco': 'tacos', 'piano': 'pianos', 'burrito': 'burritos', 'kiwi': 'kiwis', 'photo': 'photos', 'volcano': 'volcanoes', 'tornado': 'tornadoes',
         'flamingo': 'flamingos', 'kangaroo': 'kangaroos', 'buffalo': 'buffalo', 'banjo': 'banjos', 'dodo': 'dodos', 'yo-yo': 'yo-yos', 'radio': 'radios', 'kimono': 'kimonos', 'torso': 'torsos', 'bus': 'buses',
         'police': 'police', 'child': 'children', 'person': 'people', 'jellyfish': 'jellyfish', 'pufferfish': 'pufferfish', 'blowfish': 'blowfish', 'series': 'series', 'surf': 'surfs', 'giraffe': 'giraffes', 'superhero': 'superheroes', 'speech': 'speeches'}
COLOR_WORDS = set('white black gray grey red orange yellow green blue purple pink brown cyan'.split())
PREP = {'with', 'of', 'in', 'on', 'behind', 'and', 'at', 'from', 'pointing'}
PLURALISH_OK = {'glass of milk', 'glass of wine', 'glass of whiskey', 'cactus', 'octopus', 'hippopotamus', 'walrus', 'bus', 'compass', 'lotus', 'hourglass', 'wine glass', 'cocktail glass', 'magnifying glass', 'dress', 'cross', 'hibiscus',
                'mattress', 'princess', 'seashell', 'latin cross', 'classical building', 'synagogue', 'abacus', 'trolleybus', 'tyrannosaurus', 'school bus', 'circus tent', 'christmas tree', 'glass', 'santa claus', 'scissors drop', 'venus'}
PLURAL_NAME = set()

def clean(n):
    n = n.replace('’', "'").replace('ñ', 'n').replace('“', '').replace('”', '').lower()
    n = re.sub(r"[^a-z0-9' \-]", ' ', n)
    return re.sub(r'\s+', ' ', n).strip()

def pl_word(w):
    if w in IRREG: return IRREG[w]
    if '-' in w and w.split('-')[-1] in IRREG: return w[:-len(w.split('-')[-1])] + IRREG[w.split('-')[-1]]
    for k in ('fish', 'berries'):
        if w.endswith(k): return w
    if w.endswith('man') and w not in ('human',): return w[:-3] + 'men'
    if re.search(r'(s|x|ch|sh|z)$', w): return w + 'es'
    if re.search(r'[^aeiou]y$', w): return w[:-1] + 'ies'
    return w + 's'

def plural(n):
    ws = n.split()
    i = next((k for k, w in enumerate(ws) if w in PREP and k > 0), len(ws)) - 1
    ws[i] = pl_word(ws[i])
    return ' '.join(ws)

def is_pluralish(n):
    ws = n.split()
    i = next((k for k, w in enumerate(ws) if w in PREP and k > 0), len(ws)) - 1
    h = ws[i]
    if h in ('rhinoceros', 'bus', 'compass', 'cactus', 'octopus', 'hippopotamus', 'lotus', 'glass', 'hourglass', 'dress', 'cross', 'hibiscus', 'princess', 'abacus', 'trolleybus', 'princess', 'tyrannosaurus', 'claus', 'chess', 'christmas', 'asparagus', 'tennis', 'grass'):
        return False
    return h.endswith('s') and not h.endswith('ss')

def main():
    icons = json.load(open(f'{NM}/@iconify-json/noto/icons.json'))
    chars = json.load(open(f'{NM}/@iconify-json/noto/chars.json'))
    ue = json.load(open(f'{NM}/unicode-emoji-json/data-by-emoji.json'))
    inv = {h.lower(): n for h, n in chars.items()}
    objs, used = [], {}
    for e, v in ue.items():
        key = '-'.join('%x' % ord(c) for c in e); key2 = '-'.join('%x' % ord(c) for c in e if ord(c) != 0xfe0f)
        ic = inv.get(key) or inv.get(key2)
        if not ic: continue
        raw, grp = v['name'], v['group']
        if raw in EXCLUDE: continue
        if grp == 'People & Body' and raw not in PEOPLE: continue
        if grp == 'Symbols' and raw not in SYMBOLS: continue
        name, al = RENAME.get(raw, (None, []))
        name = clean(name or raw)
        if name in used: continue
        used[name] = 1
        w = {'Smileys & Emotion': .5, 'People & Body': .6, 'Symbols': .6}.get(grp, 1.0)
        objs.append(dict(name=name, emoji=e, icon=ic, group=grp, aliases=[clean(a) for a in al], weight=w))
    taken = set(o['name'] for o in objs)
    for o in objs:
        o['aliases'] = [a for a in o['aliases'] if a not in taken]
        taken.update(o['aliases'])
    for o in objs:
        o['color_in_name'] = any(w in COLOR_WORDS for n in [o['name']] for w in re.split(r'[ \-]', n))
        o['pluralish'] = is_pluralish(o['name'])
        o['mass'] = o['name'] in NO_COUNT_MASS
        o['countable'] = not (o['pluralish'] or o['mass'])
        o['plural'] = plural(o['name']) if o['countable'] else o['name']
        o['alias_plural'] = [plural(a) for a in o['aliases']]
        o['alias_pluralish'] = [is_pluralish(a) for a in o['aliases']]
    def svg(o):
        n = o['icon']; ali = icons.get('aliases', {})
        while n not in icons['icons']: n = ali[n]['parent']
        ic = icons['icons'][n]
        W, H = ic.get('width', icons['width']), ic.get('height', icons['height'])
        L, T = ic.get('left', 0), ic.get('top', 0)
        return f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="{SIZE}" height="{SIZE}" viewBox="{L} {T} {W} {H}">{ic["body"]}</svg>'
    def ras(o):
        p = subprocess.run(['rsvg-convert', '-w', str(SIZE), '-h', str(SIZE)], input=svg(o).encode(), capture_output=True)
        if p.returncode: return None
        return p.stdout
    with ThreadPoolExecutor(2) as ex: pngs = list(ex.map(ras, objs))
    keep, out = [], []
    for o, p in zip(objs, pngs):
        if not p: print('FAIL', o['name']); continue
        im = Image.open(io.BytesIO(p)).convert('RGBA')
        a = np.asarray(im)
        cov = (a[..., 3] > 8).mean()
        if cov < 0.02: print('EMPTY', o['name'], cov); continue
        # zero colour under full transparency so that it compresses and premultiplies cleanly
        a = a.copy(); a[a[..., 3] == 0] = 0
        b = io.BytesIO(); Image.fromarray(a).save(b, 'PNG', optimize=True)
        o['coverage'] = round(float(cov), 4)
        ys, xs = np.where(a[..., 3] > 8); o['bbox'] = [int(xs.min()), int(ys.min()), int(xs.max()) + 1, int(ys.max()) + 1]
        keep.append(o); out.append(b.getvalue())
    os.makedirs(OUT, exist_ok=True)
    with zipfile.ZipFile(f'{OUT}/sprites.zip', 'w', zipfile.ZIP_STORED) as z:
        for i, b in enumerate(out): z.writestr(f'{i:04d}.png', b)
    rows = [json.dumps(o, ensure_ascii=False, separators=(',', ':')) for o in keep]
    open(f'{OUT}/objects.json', 'w').write('[\n' + ',\n'.join(rows) + '\n]\n')
    print(len(keep), 'objects', os.path.getsize(f'{OUT}/sprites.zip') / 1e6, 'MB')

main()
