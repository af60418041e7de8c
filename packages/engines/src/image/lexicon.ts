/**
 * The words that the image engines know: things that can be drawn, and other properties of a scene. Every word is in
 * the singular; `prompt-reading.ts` removes plurals. Phrases of several words are joined by a hyphen there.
 */

/** Things by their words. The order does not matter; each word appears once. */
const THING_WORDS = {
  mountain: 'mountain peak alp alps himalayas summit fjord ridge rockies everest',
  cliff: 'cliff clifftop cliffside sea-cliff headland promontory bluff cape crag',
  volcano: 'volcano lava eruption vesuvius fuji',
  hill: 'hill valley countryside highland moor vineyard',
  sea: 'sea ocean coast wave bay shore seaside harbour harbor port surf marina lagoon tide',
  lake: 'lake pond water reflection reservoir tarn loch',
  river: 'river stream creek brook canal',
  waterfall: 'waterfall cascade',
  beach: 'beach sandbank',
  island: 'island islet atoll',
  forest: 'forest wood woodland woods jungle rainforest taiga grove park bamboo bamboo-forest',
  pine: 'pine fir spruce conifer christmas-tree evergreen larch',
  tree: 'tree oak maple birch willow elm beech ash orchard apple-tree',
  blossom: 'cherry-blossom blossom cherry-tree sakura blossom-tree',
  palm: 'palm palm-tree coconut',
  cactus: 'cactus cacti saguaro',
  desert: 'desert dune sahara oasis sand wasteland',
  canyon: 'canyon mesa butte gorge badlands arizona',
  field: 'field meadow grassland prairie pasture farm grass savanna savannah steppe garden lawn wheat',
  lavender: 'lavender lavender-field provence',
  flower: 'flower tulip rose daisy poppy wildflower lily peony iris orchid',
  mushroom: 'mushroom toadstool',
  road: 'road path street highway trail lane alley avenue boulevard',
  bridge: 'bridge viaduct aqueduct',
  city: 'city skyline skyscraper downtown metropolis cityscape new-york london tokyo manhattan building cyberpunk-city',
  village: 'village town hamlet',
  house: 'house cottage home cabin hut barn farmhouse villa chalet lodge',
  castle: 'castle palace fortress citadel',
  lighthouse: 'lighthouse beacon',
  windmill: 'windmill mill',
  church: 'church chapel cathedral steeple abbey',
  temple: 'temple pagoda shrine monastery torii',
  tower: 'tower',
  eiffel: 'eiffel-tower eiffel paris',
  chest: 'treasure-chest treasure chest',
  pyramid: 'pyramid egypt',
  tent: 'tent camp campsite tipi yurt',
  campfire: 'campfire fire bonfire flame',
  fence: 'fence',
  rock: 'rock boulder pebble',
  boat: 'boat sailboat sailing-boat yacht sail regatta',
  rowboat: 'rowboat canoe kayak gondola fishing-boat dinghy raft',
  ship: 'ship steamer ferry liner vessel galleon freighter',
  balloon: 'balloon hot-air-balloon airship zeppelin',
  plane: 'plane airplane aeroplane aircraft jet',
  rocket: 'rocket spaceship spacecraft shuttle starship',
  ufo: 'ufo flying-saucer saucer',
  kite: 'kite',
  car: 'car automobile taxi van convertible jeep',
  train: 'train locomotive railway tram',
  sun: 'sun sunshine sunlight sunbeam',
  moon: 'moon moonlight full-moon moonlit moonrise',
  crescent: 'crescent crescent-moon half-moon',
  star: 'star starlight starry constellation',
  galaxy: 'galaxy nebula milky-way cosmos universe space',
  aurora: 'aurora northern-light polar-light borealis',
  comet: 'comet meteor shooting-star',
  planet: 'planet saturn jupiter mars',
  rainbow: 'rainbow',
  cloud: 'cloud',
  sky: 'sky heaven horizon',
  bird: 'bird seagull gull swallow flock raven crow sparrow pigeon goose stork',
  eagle: 'eagle hawk falcon condor vulture',
  owl: 'owl',
  duck: 'duck swan',
  cat: 'cat kitten kitty tomcat',
  dog: 'dog puppy hound corgi terrier shepherd-dog',
  fox: 'fox',
  wolf: 'wolf husky coyote',
  horse: 'horse pony stallion mare',
  unicorn: 'unicorn',
  deer: 'deer stag elk moose reindeer antelope fawn',
  bear: 'bear grizzly polar-bear',
  panda: 'panda',
  rabbit: 'rabbit bunny hare',
  cow: 'cow bull cattle ox bison',
  sheep: 'sheep lamb goat flock-of-sheep',
  lion: 'lion lioness',
  tiger: 'tiger leopard panther cheetah jaguar',
  zebra: 'zebra',
  elephant: 'elephant mammoth',
  camel: 'camel caravan',
  whale: 'whale orca',
  dolphin: 'dolphin porpoise',
  fish: 'fish salmon goldfish trout shark',
  jellyfish: 'jellyfish medusa',
  coral: 'coral reef seaweed underwater under-water under-the-sea deep-sea seabed',
  butterfly: 'butterfly moth',
  person:
    'person man woman figure wanderer hiker traveller traveler girl boy child kid lady guy people wizard monk farmer fisherman knight samurai human hero king queen princess prince witch sorcerer warrior ballerina dancer bride fairy soldier pirate',
  couple: 'couple lover pair-of-lovers family friend',
  astronaut: 'astronaut cosmonaut spaceman',
  robot: 'robot android mech',
  snowman: 'snowman',
  lantern: 'lantern paper-lantern sky-lantern',
  dragon: 'dragon wyvern',
  bicycle: 'bicycle bike cyclist',
  motorcycle: 'motorcycle motorbike moped scooter vespa',
  penguin: 'penguin',
  frog: 'frog toad',
  parrot: 'parrot macaw cockatoo toucan',
  bee: 'bee bumblebee honeybee',
  octopus: 'octopus squid kraken',
  mermaid: 'mermaid siren',
  giraffe: 'giraffe',
  turtle: 'turtle tortoise',
  lamppost: 'lamppost street-lamp street-light streetlight lamp-post',
  bench: 'bench park-bench',
  umbrella: 'umbrella parasol',
  sunflower: 'sunflower sunflower-field',
  firework: 'firework fireworks',
  cup: 'cup mug coffee espresso cappuccino latte',
  teapot: 'teapot kettle tea',
  bowl: 'bowl fruit fruits fruit-bowl',
  apple: 'apple',
  pear: 'pear',
  lemon: 'lemon lime-fruit',
  citrus: 'oranges orange-fruit mandarin tangerine',
  grape: 'grape',
  bread: 'bread loaf baguette croissant',
  cheese: 'cheese',
  bottle: 'bottle wine',
  goblet: 'wine-glass goblet wineglass',
  vase: 'vase bouquet',
  book: 'book novel',
  candle: 'candle candlelight',
  pumpkin: 'pumpkin jack-o-lantern',
  pizza: 'pizza',
  burger: 'burger hamburger cheeseburger sandwich',
  noodles: 'noodles noodle ramen pasta spaghetti soup pho',
  pancake: 'pancake waffle',
  doughnut: 'doughnut donut',
  'ice-cream': 'ice-cream gelato sundae',
  shoe: 'shoe sneaker trainers boot',
  flask: 'perfume cologne perfume-bottle potion',
  guitar: 'guitar ukulele violin cello',
  crystal: 'crystal-ball',
  cake: 'cake cupcake birthday-cake',
  houseplant: 'houseplant potted-plant pot-plant monstera',
  clock: 'clock',
  table: 'table tabletop still-life',
  room: 'room living-room bedroom interior indoor indoors loft apartment parlour lounge attic',
  library: 'library bookshop bookstore reading-room study',
  kitchen: 'kitchen cafe coffee-shop restaurant bakery diner',
  window: 'window windowsill',
  fireplace: 'fireplace hearth',
  sofa: 'sofa couch',
  armchair: 'armchair rocking-chair chair',
  bed: 'bed',
  bookshelf: 'bookshelf bookcase bookshelves',
  piano: 'piano grand-piano',
  lamp: 'lamp desk-lamp floor-lamp',
  rug: 'rug carpet',
  portrait: 'portrait headshot selfie close-up bust face mugshot',
} as const;

/** Something that can be drawn. */
export type Thing = keyof typeof THING_WORDS;

export type TimeOfDay = 'dawn' | 'morning' | 'noon' | 'afternoon' | 'sunset' | 'dusk' | 'night';
export type Weather = 'clear' | 'cloudy' | 'rain' | 'snow' | 'fog' | 'storm' | 'wind';
export type Season = 'spring' | 'summer' | 'autumn' | 'winter';
export type Style =
  | 'natural'
  | 'watercolour'
  | 'oil'
  | 'ink'
  | 'sketch'
  | 'minimal'
  | 'neon'
  | 'vintage'
  | 'pastel'
  | 'pixel'
  | 'low-poly'
  | 'glass'
  | 'noir'
  | 'photo'
  | 'blueprint'
  | 'pop'
  | 'paper-cut';

const TIME_WORDS: Record<TimeOfDay, string> = {
  dawn: 'dawn sunrise daybreak first-light',
  morning: 'morning',
  noon: 'noon midday day daytime daylight sunny bright',
  afternoon: 'afternoon golden-hour golden-light warm-light',
  sunset: 'sunset evening sundown',
  dusk: 'dusk twilight blue-hour nightfall gloaming',
  night: 'night midnight nighttime nocturnal starry-night dark',
};

const WEATHER_WORDS: Record<Weather, string> = {
  clear: 'clear cloudless',
  cloudy: 'cloudy overcast grey-sky gray-sky',
  rain: 'rain rainy drizzle downpour wet shower monsoon',
  snow: 'snowfall snowing snowstorm blizzard snowflake',
  fog: 'fog foggy mist misty haze hazy smoke smog',
  storm: 'storm stormy thunder thunderstorm lightning tempest hurricane',
  wind: 'wind windy breeze breezy gust',
};

const SEASON_WORDS: Record<Season, string> = {
  spring: 'spring springtime april may',
  summer: 'summer summertime july tropical',
  autumn: 'autumn fall october autumnal november',
  winter:
    'winter snowy snow frozen ice icy christmas arctic antarctic antarctica january wintry frost frosty glacier iceberg igloo icicle snow-covered sleigh sledge skiing skier snowboarder',
};

const STYLE_WORDS: Record<Exclude<Style, 'natural'>, string> = {
  watercolour: 'watercolour watercolor aquarelle gouache',
  oil: 'oil oil-painting impressionist impressionism impasto painterly van-gogh monet painting brushstroke acrylic',
  ink: 'ink sumi-e ink-wash woodcut linocut calligraphy ukiyo-e',
  sketch: 'sketch pencil drawing charcoal engraving etching line-art',
  minimal: 'minimal minimalist minimalistic flat simple vector flat-design',
  neon: 'neon synthwave cyberpunk vaporwave retrowave glowing outrun',
  vintage: 'vintage retro sepia nostalgic antique old-photo film 1970s faded old-photograph',
  pastel: 'pastel soft dreamy kawaii',
  pixel: 'pixel pixel-art 8-bit 16-bit pixelated',
  'low-poly': 'low-poly lowpoly polygonal geometric origami faceted triangulated',
  glass: 'stained-glass mosaic',
  noir: 'noir black-and-white monochrome grayscale greyscale',
  photo: 'photo photograph photographic photography photorealistic realistic cinematic hdr dslr bokeh',
  blueprint: 'blueprint technical-drawing schematic',
  pop: 'pop-art comic comic-book halftone cartoon warhol manga',
  'paper-cut': 'paper-cut papercut paper-cutout paper-art layered-paper papercraft',
};

function byWord<Name extends string>(lists: Readonly<Record<Name, string>>): ReadonlyMap<string, Name> {
  const names = Object.keys(lists) as Name[];
  return new Map(names.flatMap((name) => lists[name].split(' ').map((word) => [word, name] as const)));
}

export const THINGS = byWord<Thing>(THING_WORDS);
export const TIMES = byWord(TIME_WORDS);
export const WEATHERS = byWord(WEATHER_WORDS);
export const SEASONS = byWord(SEASON_WORDS);
export const STYLES = byWord(STYLE_WORDS);

/** The phrases of several words, longest first, as they appear in a prompt. */
export const PHRASES: readonly string[] = [THINGS, TIMES, WEATHERS, SEASONS, STYLES]
  .flatMap((words) => [...words.keys()])
  .filter((word) => word.includes('-'))
  .toSorted((first, second) => second.length - first.length);
