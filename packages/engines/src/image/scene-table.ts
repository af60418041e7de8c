/**
 * Things on a table: a wall in the light of a window, the table with its grain, and the things on it with their
 * shadows; and if a window is named, the land outside.
 */
import { adjust, css, hex, mix } from './colour.ts';
import type { Colour } from './colour.ts';
import type { Composition } from './composition.ts';
import { downwards, fillBox, fillShape, glow, strokeLine } from './draw.ts';
import { TABLETOP } from './indoors.ts';
import { drawWindow } from './layers/windows.ts';
import type { Thing } from './lexicon.ts';
import { createLineNoise, fractal } from './noise.ts';
import type { Mention } from './prompt-reading.ts';
import type { Stage } from './stage.ts';
import { TABLE_THINGS } from './tabletop.ts';
import type { TableThing } from './tabletop.ts';

/** The things on the table if the prompt names only the table. */
const STILL_LIFES: readonly [readonly Thing[], ...(readonly Thing[])[]] = [
  ['bottle', 'bowl', 'goblet', 'apple'],
  ['vase', 'book', 'cup'],
  ['teapot', 'cup', 'lemon', 'pear'],
  ['candle', 'book', 'apple', 'grape'],
];

/** Companions that turn a single thing into a still life. */
const COMPANY: { readonly [Name in Thing]?: readonly Thing[] } = {
  cup: ['book', 'houseplant'],
  bowl: ['bottle', 'pear'],
  vase: ['book', 'cup'],
  bottle: ['goblet', 'grape', 'cheese'],
  goblet: ['bottle', 'grape'],
  apple: ['book', 'pear'],
  bread: ['cheese', 'bottle'],
  cheese: ['bread', 'grape'],
  candle: ['book', 'goblet'],
  book: ['cup', 'candle'],
  cake: ['cup', 'candle'],
  pumpkin: ['candle', 'apple'],
  teapot: ['cup', 'lemon'],
  pizza: ['bottle', 'goblet'],
  burger: ['goblet'],
  noodles: ['cup'],
  pancake: ['cup', 'lemon'],
  doughnut: ['cup'],
  'ice-cream': ['lemon'],
  crystal: ['candle', 'book'],
  flask: ['vase'],
  shoe: [],
  clock: ['book', 'candle'],
  houseplant: ['cup', 'book'],
};

/** Things of which several are drawn as one: a stack, a bowl. */
const HEAPED: readonly Thing[] = ['pancake', 'noodles', 'pizza', 'bowl'];
/** The fruits that fill a bowl if the prompt says `a bowl of` one of them. */
const FRUITS: readonly Thing[] = ['citrus', 'apple', 'pear', 'lemon'];

interface Standing {
  readonly thing: TableThing;
  readonly mention: Mention;
  /** For a bowl: its content. */
  readonly filling: Thing | undefined;
  readonly size: number;
  readonly x: number;
  readonly y: number;
}

/** The wall behind, lighter where light falls from the window. */
function paintWall(stage: Stage, wall: Colour, edge: number): void {
  const { context, width, height, random } = stage;
  const chance = random.fork('wall');
  fillBox(
    context,
    0,
    0,
    width,
    edge + 4,
    downwards(context, 0, edge, css(adjust(wall, 0.02)), css(adjust(wall, -0.07))),
  );
  const light = mix(wall, hex('#fff3da'), 0.75);
  glow(context, { x: width * 0.16, y: edge * 0.2 }, Math.max(width, height) * 0.75, light, 0.75);
  context.save();
  context.globalCompositeOperation = 'soft-light';
  const lean = chance.between(0.35, 0.6);
  const left = width * chance.between(0.34, 0.48);
  for (const pane of [0, 1]) {
    const x = left + pane * width * 0.17;
    fillShape(
      context,
      [
        { x, y: edge * 0.06 },
        { x: x + width * 0.14, y: edge * 0.02 },
        { x: x + width * 0.14 + edge * lean * 0.5, y: edge * 0.8 },
        { x: x + edge * lean * 0.5, y: edge * 0.86 },
      ],
      css(hex('#fff6df'), 0.55),
    );
  }
  context.restore();
}

/** The table top with its boards and grain. */
export function paintTable(stage: Stage, wood: Colour, edge: number): void {
  const { context, width, height, random } = stage;
  const chance = random.fork('table');
  const noise = createLineNoise(chance);
  fillBox(
    context,
    0,
    edge,
    width,
    height - edge,
    downwards(context, edge, height, css(mix(wood, hex('#fff0d4'), 0.24)), css(wood), css(adjust(wood, -0.13))),
  );
  const drop = height - edge;
  for (let line = 0; line < 150; line++) {
    const share = chance.next();
    const y = edge + drop * share ** 1.6;
    const tone = adjust(wood, chance.between(-0.1, 0.05));
    const start = chance.between(-0.2, 0.9) * width;
    const long = chance.between(0.1, 0.5) * width;
    const curve = Array.from({ length: 9 }, (_, step) => ({
      x: start + (long * step) / 8,
      y: y + fractal(noise, line * 7 + step * 0.35, 2) * 7 * (0.3 + share),
    }));
    strokeLine(context, curve, 0.6 + share * 1.8, tone, 0.34);
  }
  for (const share of [0.3, 0.66]) {
    const y = edge + drop * share;
    strokeLine(
      context,
      [
        { x: 0, y },
        { x: width, y: y + 2 },
      ],
      1.6 + share * 2,
      adjust(wood, -0.17),
      0.6,
    );
  }
  fillBox(context, 0, edge - 2, width, 5, css(mix(wood, hex('#fff3dc'), 0.55), 0.9));
  glow(context, { x: width * 0.22, y: edge + drop * 0.2 }, width * 0.55, mix(wood, hex('#fff3da'), 0.7), 0.4);
}

/** Everything that stands on the table, from behind to the front. */
function arrange(stage: Stage, composition: Composition, edge: number): Standing[] {
  const { width, height, random } = stage;
  const { mentions, absent } = composition;
  const chance = random.fork('still life');
  const filling = mentions.has('bowl') ? FRUITS.find((fruit) => mentions.has(fruit)) : undefined;
  const named = [...mentions.values()]
    .filter(({ thing }) => TABLETOP.includes(thing))
    .map((mention) => (mention.thing === filling ? { ...mention, count: 1 } : mention));
  const added = (
    named.length === 0 ? chance.pick(STILL_LIFES) : named.length === 1 ? (COMPANY[named[0]?.thing ?? 'cup'] ?? []) : []
  )
    .filter((thing) => !absent.has(thing) && !mentions.has(thing))
    .map((thing): Mention => ({ thing, colour: undefined, count: 1, scale: named.length === 0 ? 1 : 0.86 }));
  const all = [...named, ...added].flatMap((mention) => {
    const thing = TABLE_THINGS[mention.thing];
    return thing === undefined
      ? []
      : Array.from({ length: HEAPED.includes(mention.thing) ? 1 : Math.min(6, mention.count) }, (_, copy) => ({
          thing,
          mention,
          copy,
        }));
  });
  // As large as fits across, with the first thing in the middle and in front.
  const across = all.reduce((sum, { thing, mention }) => sum + thing.height * mention.scale * thing.half * 1.7, 0);
  const grow = Math.min(
    1.6,
    (width * 0.86) / Math.max(1, across),
    (edge * 1.15) / Math.max(...all.map(({ thing, mention }) => thing.height * mention.scale), 1),
  );
  const order = all
    .map((_, index) => index)
    .toSorted((one, other) => (one % 2 === 0 ? one : -one) - (other % 2 === 0 ? other : -other));
  const span = Math.min(width * 0.86, across * grow);
  let x = (width - span) / 2;
  return order.flatMap((index): Standing[] => {
    const entry = all[index];
    if (entry === undefined) return [];
    const { thing, mention, copy } = entry;
    const size = thing.height * mention.scale * grow * (copy > 0 ? chance.between(0.86, 1) : 1);
    const wide = thing.height * mention.scale * thing.half * 1.7 * grow;
    const centre = x + wide / 2;
    x += wide;
    const depth = index === 0 ? 0.42 : chance.between(0.14, 0.6);
    return [
      {
        thing,
        mention,
        filling: mention.thing === 'bowl' ? filling : undefined,
        size,
        x: centre,
        y: edge + (height - edge) * depth,
      },
    ];
  });
}

/** Paints a still life. */
export function paintStillLife(stage: Stage, composition: Composition): void {
  const { width, height, palette, random } = stage;
  const chance = random.fork('colours');
  const isDark = composition.time === 'night' || composition.time === 'dusk';
  const walls = isDark ? ['#3a3f52', '#463a3f', '#2f4045'] : ['#c9b79a', '#a9b8a8', '#b9a7a0', '#8fa3ae', '#d8c9ae'];
  const [first = '#c9b79a', ...others] = walls;
  const wall =
    composition.mentions.get('table') === undefined
      ? hex(chance.pick([first, ...others]))
      : hex(chance.pick([first, ...others]));
  const wood =
    composition.mentions.get('table')?.colour ?? hex(chance.pick(['#8a5a36', '#6f4930', '#a9764a', '#5a4032']));
  const edge = height * 0.62;
  paintWall(stage, wall, edge);
  const hasWindow = composition.mentions.has('window');
  if (hasWindow)
    drawWindow(stage, composition, {
      x: width * 0.08,
      y: height * 0.05,
      width: width * 0.44,
      height: edge - height * 0.08,
    });
  paintTable(stage, isDark ? adjust(wood, -0.08) : wood, edge);
  const indoors = {
    ...stage,
    palette: {
      ...palette,
      light: hex(isDark ? '#ffe3c0' : '#fff8ec'),
      isDark: false,
      land: hex('#2a1c14'),
      haze: wall,
    },
  };
  for (const { thing, mention, filling, size, x, y } of arrange(indoors, composition, edge).toSorted(
    (one, other) => one.y - other.y,
  )) {
    thing.draw(indoors, { x, y }, size, {
      colour: mention.colour,
      depth: 0,
      facing: 1,
      word: filling,
      random: random.fork(`${mention.thing} ${Math.round(x)}`),
    });
  }
  const { context } = stage;
  const corner = context.createRadialGradient(
    width * 0.42,
    height * 0.45,
    Math.min(width, height) * 0.35,
    width / 2,
    height / 2,
    Math.hypot(width, height) * 0.6,
  );
  corner.addColorStop(0, css(hex('#1a0f0a'), 0));
  corner.addColorStop(1, css(hex('#1a0f0a'), isDark ? 0.6 : 0.38));
  context.fillStyle = corner;
  context.fillRect(0, 0, width, height);
}
