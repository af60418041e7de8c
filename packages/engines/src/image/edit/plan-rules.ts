/**
 * The words and phrases that request edits, each with its edit.
 */
import type { Colour } from '../colour.ts';
import type { Season, Style } from '../lexicon.ts';

export type Hour = 'golden' | 'sunset' | 'dawn' | 'noon' | 'dusk' | 'night' | 'moonlight';
export type Lamp = 'neon' | 'candle' | 'dramatic' | 'studio' | 'rays';
export type Tone =
  | 'sepia'
  | 'mono'
  | 'noir'
  | 'warm'
  | 'cool'
  | 'bright'
  | 'dark'
  | 'contrast'
  | 'flat'
  | 'vivid'
  | 'muted'
  | 'pastel'
  | 'negative'
  | 'vintage'
  | 'cinema'
  | 'enhance';
export type Focus =
  | 'background'
  | 'tilt'
  | 'whole'
  | 'motion'
  | 'soft'
  | 'zoom'
  | 'sharp'
  | 'vignette'
  | 'glow'
  | 'grain';
export type Air =
  | 'rain'
  | 'snow'
  | 'fog'
  | 'storm'
  | 'rainbow'
  | 'stars'
  | 'aurora'
  | 'firework'
  | 'leaves'
  | 'petals'
  | 'clouds';
export type Side = 'left' | 'right' | 'top' | 'bottom';
export type FrameForm = 'polaroid' | 'border' | 'wood' | 'film';

/** One change to an image. */
export type Edit =
  | { readonly kind: 'light'; readonly hour: Hour }
  | { readonly kind: 'lamp'; readonly lamp: Lamp }
  | { readonly kind: 'tone'; readonly tone: Tone }
  | { readonly kind: 'recolour'; readonly target: string; readonly colour: Colour; readonly from?: Colour }
  | { readonly kind: 'season'; readonly season: Season }
  | { readonly kind: 'air'; readonly air: Air }
  | { readonly kind: 'focus'; readonly focus: Focus }
  | { readonly kind: 'style'; readonly style: Style }
  | { readonly kind: 'sky'; readonly words: string }
  | { readonly kind: 'background'; readonly words: string }
  | { readonly kind: 'remove'; readonly what: 'background' | 'subject'; readonly words?: string }
  | { readonly kind: 'add'; readonly words: string }
  | { readonly kind: 'frame'; readonly form: FrameForm }
  | { readonly kind: 'crop'; readonly part: 'square' | 'subject' | 'centre' | Side }
  | { readonly kind: 'zoom'; readonly factor: number }
  | { readonly kind: 'extend'; readonly sides: readonly Side[]; readonly factor: number }
  | { readonly kind: 'turn'; readonly turn: 'mirror' | 'upside-down' | 'left' | 'right' };

export interface Rule {
  /** Global, on lower case. */
  readonly pattern: RegExp;
  readonly edit: (match: RegExpMatchArray) => Edit;
}

function rule(words: string, edit: Edit | ((match: RegExpMatchArray) => Edit)): Rule {
  return { pattern: new RegExp(`\\b(?:${words})\\b`, 'g'), edit: typeof edit === 'function' ? edit : () => edit };
}

/** `2x`, `twice`, `by 50%`; `fallback` if none is named. */
function factorOf(text: string, fallback: number): number {
  const times = /(\d+(?:\.\d+)?)\s*(?:x|times)/.exec(text);
  const percent = /(\d+)\s*(?:%|percent)/.exec(text);
  const factor = times
    ? Number(times[1])
    : percent
      ? 1 + Number(percent[1]) / 100
      : /twice|double/.test(text)
        ? 2
        : fallback;
  return Math.max(1.05, Math.min(4, factor));
}

const SIDES: readonly Side[] = ['left', 'right', 'top', 'bottom'];

function sidesOf(text: string): Side[] {
  const plain = text
    .replace(/\b(up|upward|upwards|above)\b/g, 'top')
    .replace(/\b(down|downward|downwards|below)\b/g, 'bottom');
  const named = SIDES.filter((side) => plain.includes(side));
  if (named.length > 0) return named;
  if (/\b(wider|wide|horizontal\w*|sides|panorama|panoramic|landscape)\b/.test(plain)) return ['left', 'right'];
  return /\b(taller|tall|vertical\w*|portrait)\b/.test(plain) ? ['top', 'bottom'] : [...SIDES];
}

function extension(match: RegExpMatchArray): Edit {
  return { kind: 'extend', sides: sidesOf(match[0]), factor: factorOf(match[0], 1.4) };
}

const AMOUNT =
  '(?:\\s+(?:by|to|in|it|the|picture|image|photo|scene|canvas|a|bit|on|towards?|all|both|sides|around|and|left|right|top|bottom|up|down|upwards?|downwards?|wider|taller|horizontally|vertically|twice|double|[\\d.]+\\s*(?:x|times|%|percent)))*';

export const FRAMING_RULES: readonly Rule[] = [
  rule(`(?:extend|expand|outpaint|uncrop|widen|enlarge the canvas)${AMOUNT}`, extension),
  rule(`(?:make (?:it|the (?:picture|image|photo)) (?:wider|taller|panoramic)|panorama|panoramic)${AMOUNT}`, extension),
  rule(`zoom(?:ed)? out${AMOUNT}|pull back${AMOUNT}`, (match) => ({
    kind: 'extend',
    sides: SIDES,
    factor: factorOf(match[0], 1.5),
  })),
  rule(`zoom(?:ed)?(?: in)?(?! out)${AMOUNT}|magnify${AMOUNT}`, (match) => ({
    kind: 'zoom',
    factor: factorOf(match[0], 1.7),
  })),
  rule('close[- ]?up(?: of)?', { kind: 'crop', part: 'subject' }),
  rule(
    '(?:crop|trim|cut)(?: (?:it|this|the (?:picture|image|photo)))?(?: (?:in|down))?(?: (?:to|around|on|as))?(?: (?:a|the|its|an))?(?: (\\w+))?(?: (?:half|part|third|subject))?',
    (match) => {
      const part = match[1] ?? '';
      if (part === 'square') return { kind: 'crop', part: 'square' };
      for (const side of SIDES)
        if (part === side || (side === 'top' && part === 'upper') || (side === 'bottom' && part === 'lower'))
          return { kind: 'crop', part: side };
      return { kind: 'crop', part: /^(cent|middle)/.test(part) || part === '' ? 'centre' : 'subject' };
    },
  ),
  rule('(?:flip|mirror|reverse)(?:ed)?(?: (?:it|the (?:picture|image|photo)))? ?(?:horizontally|left to right)?', {
    kind: 'turn',
    turn: 'mirror',
  }),
  rule(
    '(?:flip|turn|mirror)(?: (?:it|the (?:picture|image|photo)))? (?:vertically|upside[- ]down)|upside[- ]down|rotate(?:d)?(?: (?:it|the (?:picture|image|photo)))?(?: by)? 180',
    { kind: 'turn', turn: 'upside-down' },
  ),
  rule(
    'rotate(?:d)?(?: (?:it|the (?:picture|image|photo)))?(?: by)?(?: 90)?(?: degrees)?(?: (?:to the )?(left|right|clockwise|counter-?clockwise|anti-?clockwise))?',
    (match) => ({
      kind: 'turn',
      turn: /left|counter|anti/.test(match[1] ?? '') ? 'left' : 'right',
    }),
  ),
];

const light = (words: string, hour: Hour): Rule => rule(words, { kind: 'light', hour });
const lamp = (words: string, name: Lamp): Rule => rule(words, { kind: 'lamp', lamp: name });
const tone = (words: string, name: Tone): Rule => rule(words, { kind: 'tone', tone: name });
const focus = (words: string, name: Focus): Rule => rule(words, { kind: 'focus', focus: name });
const air = (words: string, name: Air): Rule => rule(words, { kind: 'air', air: name });
const season = (words: string, name: Season): Rule => rule(words, { kind: 'season', season: name });
const frame = (words: string, form: FrameForm): Rule => rule(words, { kind: 'frame', form });

export const TONE_RULES: readonly Rule[] = [
  light('golden[- ]hour|golden light|afternoon light|late afternoon|warm sunlight', 'golden'),
  light('sunset|sundown|evening', 'sunset'),
  light('sunrise|dawn|daybreak|early morning', 'dawn'),
  light('noon|midday|daylight|daytime|sunny|sunshine|bright day', 'noon'),
  light('dusk|twilight|blue[- ]hour|nightfall', 'dusk'),
  light('night|nighttime|night[- ]time|midnight|nocturnal', 'night'),
  light('moonlight|moonlit|full moon|moon light', 'moonlight'),
  lamp('neon(?: lights?| lighting| glow)?|cyberpunk|synthwave|vaporwave', 'neon'),
  lamp('candle[- ]?light|fire[- ]?light|lamplight|candlelit', 'candle'),
  lamp('dramatic(?: light| lighting)?|chiaroscuro|moody|spotlight|low[- ]key', 'dramatic'),
  lamp('studio(?: light| lighting)?|softbox', 'studio'),
  lamp('(?:sun|light|god)[- ]?(?:rays|beams|shafts)|sunbeams|backlit|backlight|lens flare', 'rays'),
  tone('sepia', 'sepia'),
  tone('black[- ]and[- ]white|b&w|monochrome|gr[ae]yscale|desaturated?', 'mono'),
  tone('noir|film noir', 'noir'),
  tone('warmer|warm(?: tones?| colou?rs?)?|cosy|cozy', 'warm'),
  tone('cooler|cool(?: tones?| colou?rs?)?|colder|cold|icy', 'cool'),
  tone('brighter|brighten|lighter|lighten|more light|overexposed?', 'bright'),
  tone('darker|darken|dim|underexposed?', 'dark'),
  tone('more contrast|higher contrast|high contrast|contrasty|punchy|punchier|hdr', 'contrast'),
  tone('less contrast|low contrast|matte|faded|washed out', 'flat'),
  tone('vivid|vibrant|saturated?|more colou?rful|colou?rful|more colou?r', 'vivid'),
  tone('muted|subdued|less colou?rful|less saturated', 'muted'),
  tone('pastel|dreamy', 'pastel'),
  tone('negative|inverted?|invert the colou?rs', 'negative'),
  tone('vintage|retro|old photo(?:graph)?|nostalgic|antique|1970s|70s|analog(?:ue)?', 'vintage'),
  tone('cinematic|teal and orange|movie(?: look| still)?|film look|blockbuster', 'cinema'),
  tone(
    'enhanced?|improved?|retouch|better quality|professional|auto[- ]?correct|fix the (?:light|exposure|colou?rs?)',
    'enhance',
  ),
  focus(
    '(?:blur(?:red|ry)?|soften|defocus)(?: out)? (?:the )?(?:background|backdrop|behind)|(?:background|backdrop) (?:blur|blurred|blurry|out of focus|bokeh)|bokeh|shallow depth of field|portrait mode|depth of field',
    'background',
  ),
  focus('tilt[- ]?shift|miniature|toy[- ]?(?:town|like)|diorama', 'tilt'),
  focus('motion blur|speed(?:ing)? blur|moving fast|in motion', 'motion'),
  focus('zoom blur|radial blur|zoom burst', 'zoom'),
  focus('soft focus|soft', 'soft'),
  focus('blur(?:red|ry)?|out of focus', 'whole'),
  focus('sharpen(?:ed)?|sharper|crisp(?:er)?|more detail(?:ed)?|deblur', 'sharp'),
  focus('vignette|dark(?:er|en)? (?:the )?(?:corners|edges)', 'vignette'),
  focus('glow(?:ing)?|bloom|ethereal|halo', 'glow'),
  focus('grain|grainy|film grain|noise', 'grain'),
];

export const SCENE_RULES: readonly Rule[] = [
  air('rain|rainy|raining|drizzle|downpour|wet', 'rain'),
  air('snow|snowy|snowing|snowfall|snowflakes|blizzard', 'snow'),
  air('fog|foggy|mist|misty|haze|hazy|smoke', 'fog'),
  air('storm|stormy|thunder|thunderstorm|lightning', 'storm'),
  air('rainbow', 'rainbow'),
  air('stars|starry|starry sky|milky way', 'stars'),
  air('aurora|northern lights|polar lights', 'aurora'),
  air('fireworks?', 'firework'),
  air('falling leaves|leaves in the wind|autumn leaves', 'leaves'),
  air('petals|confetti|cherry blossoms?', 'petals'),
  air('clouds|cloudy|overcast', 'clouds'),
  season('autumn|autumnal|fall colou?rs|fall foliage|in the fall|october', 'autumn'),
  season('winter|wintry|frozen|frosty', 'winter'),
  season('spring|springtime', 'spring'),
  season('summer|summery', 'summer'),
  frame('polaroid|instant photo', 'polaroid'),
  frame('(?:white|thin|plain) (?:border|frame|margin|mat)|border|passe-partout', 'border'),
  frame('(?:wooden|wood|picture|gold|golden|ornate) frame|framed|in a frame|frame it', 'wood'),
  frame('film strip|contact sheet|negative strip|letterbox|cinema bars|black bars', 'film'),
  rule('(?:replace|change|swap|new)(?: out)? (?:the )?sky(?: (?:with|to|by|for|into) ([^.;]*))?', (match) => ({
    kind: 'sky',
    words: match[1] ?? 'clouds',
  })),
  rule(
    '(?:replace|change|swap|set|make)(?: out)? (?:the )?(?:background|backdrop)(?: (?:with|to|by|for|into|be) ([^.;]*))',
    (match) => ({
      kind: 'background',
      words: match[1] ?? '',
    }),
  ),
  rule(
    '(?:put|place|move|set|transport|teleport|stand|drop) (?:it |this |him |her |them |the (?:[a-z]+ ){1,3}?|my (?:[a-z]+ ){1,3}?)(?:on|in|into|onto|at|by|inside|before|under|among|near|to) ((?:a|an|the|some) [^.;]*)',
    (match) => ({
      kind: 'background',
      words: match[1] ?? '',
    }),
  ),
  rule('on (?:a )?(?:plain |pure )?(white|black|transparent) background', (match) => ({
    kind: 'background',
    words: `plain ${match[1] ?? 'white'}`,
  })),
  rule(
    '(?:remove|erase|delete|cut out|drop|isolate|get rid of) (?:the |its )?(?:background|backdrop)|isolate (?:the )?\\w+',
    {
      kind: 'remove',
      what: 'background',
    },
  ),
  rule(
    '(?:remove|erase|delete|get rid of|take (?:away|out)|eliminate) (?:the |this |that |all |any )?(?!background|backdrop)([a-z]+(?: (?!and|but|then|with|from|on|in)[a-z]+){0,2})',
    (match) => ({ kind: 'remove', what: 'subject', words: match[1] ?? '' }),
  ),
];
