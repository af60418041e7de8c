/**
 * A room: wall and floor in the light of a window and lamps, furniture along the wall, a rug, and the people at home.
 */
import { adjust, css, hex, mix } from './colour.ts';
import type { Colour } from './colour.ts';
import type { Composition } from './composition.ts';
import { downwards, fillBox, fillEllipse, fillShape, glow, strokeLine } from './draw.ts';
import { FURNITURE, TABLETOP } from './indoors.ts';
import { drawGuitar } from './layers/belongings.ts';
import * as furniture from './layers/furniture.ts';
import { drawWindow } from './layers/windows.ts';
import type { Thing } from './lexicon.ts';
import { drawAll, placeOnGround, Room, subjectsOf } from './placement.ts';
import type { Mention } from './prompt-reading.ts';
import type { DrawThing, Stage } from './stage.ts';
import { TABLE_THINGS } from './tabletop.ts';

interface Piece {
  readonly draw: DrawThing;
  /** As a fraction of the wall's height. */
  readonly tall: number;
  readonly half: number;
}

/** The counter of a kitchen is named `table`; an actual table is drawn separately if the prompt names one. */
const PIECES: { readonly [Name in Thing]?: Piece } = {
  fireplace: { draw: furniture.drawFireplace, tall: 0.5, half: 0.9 },
  bookshelf: { draw: furniture.drawBookshelf, tall: 0.82, half: 0.38 },
  piano: { draw: furniture.drawPiano, tall: 0.42, half: 0.92 },
  sofa: { draw: furniture.drawSofa, tall: 0.36, half: 1.26 },
  bed: { draw: furniture.drawBed, tall: 0.38, half: 1.5 },
  armchair: { draw: furniture.drawArmchair, tall: 0.36, half: 0.62 },
  guitar: { draw: drawGuitar, tall: 0.6, half: 0.24 },
  lamp: { draw: furniture.drawLamp, tall: 0.66, half: 0.18 },
  table: { draw: furniture.drawCounter, tall: 0.62, half: 0.92 },
  houseplant: { draw: (...args) => TABLE_THINGS.houseplant?.draw(...args), tall: 0.42, half: 0.45 },
};

/** The furniture of a room for which the prompt names none; the first is the most prominent. */
const FURNISHED: { readonly [Name in Thing]?: readonly Thing[] } = {
  library: ['bookshelf', 'armchair', 'bookshelf', 'lamp'],
  kitchen: ['table', 'houseplant'],
  room: ['sofa', 'lamp', 'houseplant', 'bookshelf'],
};

interface RoomItem {
  readonly thing: Thing;
  readonly mention: Mention | undefined;
}

function furnish(composition: Composition): RoomItem[] {
  const { mentions, absent } = composition;
  const named = [...mentions.values()].filter(({ thing }) => thing !== 'table' && PIECES[thing] !== undefined);
  const kind = (['library', 'kitchen', 'room'] as const).find((name) => mentions.has(name)) ?? 'room';
  const isBedroom = mentions.get('room')?.word === 'bedroom';
  const usual = isBedroom ? (['bed', 'lamp', 'houseplant'] as const) : (FURNISHED[kind] ?? []);
  const items: RoomItem[] = named.map((mention) => ({ thing: mention.thing, mention }));
  for (const thing of usual) {
    if (items.length >= 4) break;
    const isThere = thing !== 'bookshelf' && items.some((item) => item.thing === thing);
    if (!isThere && !absent.has(thing) && PIECES[thing] !== undefined) items.push({ thing, mention: undefined });
  }
  return items.slice(0, 5);
}

/** Boards that run towards a point behind the wall. */
function paintFloor(stage: Stage, wood: Colour, edge: number): void {
  const { context, width, height } = stage;
  const centre = width * 0.5;
  fillBox(
    context,
    0,
    edge,
    width,
    height - edge,
    downwards(context, edge, height, css(adjust(wood, -0.05)), css(mix(wood, hex('#fff0d8'), 0.12))),
  );
  const reach = (height - edge) * 4;
  for (let board = -22; board <= 22; board++) {
    const top = { x: centre + board * width * 0.045, y: edge };
    const bottom = { x: centre + board * width * 0.15, y: edge + reach * 0.25 };
    strokeLine(context, [top, bottom], 1.6, adjust(wood, -0.14), 0.5);
    if (board % 3 === 0) continue;
    const next = { x: bottom.x + width * 0.15, y: bottom.y };
    fillShape(
      context,
      [top, { x: top.x + width * 0.045, y: edge }, next, bottom],
      css(board % 2 === 0 ? adjust(wood, 0.05) : adjust(wood, -0.04), 0.28),
    );
  }
  fillBox(context, 0, edge - 10, width, 12, css(hex('#f3ead9')));
  fillBox(context, 0, edge + 2, width, 4, css(hex('#1e120b'), 0.35));
}

function paintRug(stage: Stage, edge: number, colour: Colour): void {
  const { context, width, height } = stage;
  const centre = { x: width * 0.5, y: edge + (height - edge) * 0.56 };
  const [wide, tall] = [width * 0.36, (height - edge) * 0.32];
  for (const [share, tone] of [
    [1, adjust(colour, -0.08)],
    [0.92, hex('#e6d3ae')],
    [0.86, colour],
    [0.6, adjust(colour, 0.08)],
    [0.54, hex('#e6d3ae')],
    [0.48, adjust(colour, -0.05)],
  ] as const)
    fillEllipse(context, centre, wide * share, tall * share, tone);
}

/** Paints a room. */
export function paintRoom(stage: Stage, composition: Composition): void {
  const { context, width, height, random } = stage;
  const { mentions, absent } = composition;
  const chance = random.fork('room');
  const isDark = composition.time === 'night' || composition.time === 'dusk';
  const wall =
    mentions.get('room')?.colour ??
    hex(chance.pick(isDark ? ['#5b4a44', '#47505c', '#4d4a3f'] : ['#d9c7a8', '#b9c4b4', '#cdb3a4', '#a9b9c4']));
  const edge = height * 0.66;
  fillBox(context, 0, 0, width, edge, downwards(context, 0, edge, css(adjust(wall, 0.03)), css(adjust(wall, -0.05))));
  for (let stripe = 0; stripe < width; stripe += 46)
    fillBox(context, stripe, 0, 23, edge, css(adjust(wall, 0.025), 0.5));
  fillBox(context, 0, edge * 0.72, width, edge * 0.28, css(mix(wall, hex('#f6efe2'), isDark ? 0.12 : 0.4)));
  fillBox(context, 0, edge * 0.715, width, 7, css(mix(wall, hex('#ffffff'), 0.35)));
  const wood = hex(chance.pick(['#8a5f3e', '#a5794f', '#6f4b35']));
  paintFloor(stage, wood, edge);

  const indoors: Stage = {
    ...stage,
    palette: {
      ...stage.palette,
      light: hex(isDark ? '#ffe6c6' : '#fffaf0'),
      isDark: false,
      land: hex('#2a1c14'),
      haze: wall,
    },
  };
  const items = furnish(composition);
  const hasWindow = !absent.has('window');
  const isTall = height > width * 1.2;
  const opening = {
    x: width * 0.09,
    y: edge * 0.1,
    width: width * (isTall ? 0.46 : 0.27),
    height: edge * (isTall ? 0.36 : 0.5),
  };
  if (hasWindow)
    drawWindow(indoors, composition, opening, hex(chance.pick(['#b85c4a', '#4f7280', '#c99a4a', '#7a8a5a'])));
  if (!absent.has('rug'))
    paintRug(indoors, edge, mentions.get('rug')?.colour ?? hex(chance.pick(['#a8443a', '#3f5f7a', '#7a5a86'])));

  // Tall things stand at the wall, low ones a little in front of it.
  const order = items.toSorted((one, other) => (PIECES[other.thing]?.tall ?? 0) - (PIECES[one.thing]?.tall ?? 0));
  const [atWall, before] = [new Room(), new Room()];
  if (hasWindow && !isTall) atWall.take([opening.x + opening.width / 2], opening.width * 0.62);
  for (const { thing, mention } of order) {
    const piece = PIECES[thing];
    if (piece === undefined) continue;
    const size = Math.min(edge * piece.tall * (mention?.scale ?? 1), (width * 0.5) / (piece.half * 2));
    const half = size * piece.half;
    const isTallPiece = piece.tall > 0.45;
    const candidates = (isTallPiece ? [0.62, 0.86, 0.5, 0.74, 0.94] : [0.5, 0.28, 0.72, 0.86, 0.14]).map((share) =>
      Math.max(half, Math.min(width - half, width * share)),
    );
    const isWide = isTallPiece && piece.half > 0.5;
    const x = (isTallPiece ? atWall : before).take(candidates, half * 0.9);
    // Nothing low stands in front of a fire.
    if (isWide) before.take([x], half * 0.7);
    const y = edge + (height - edge) * (isTallPiece ? 0.03 : thing === 'sofa' || thing === 'bed' ? 0.22 : 0.34);
    piece.draw(indoors, { x, y }, size, {
      colour: mention?.colour,
      depth: 0,
      facing: 1,
      random: random.fork(`${thing} ${Math.round(x)}`),
    });
  }
  const guests = subjectsOf(mentions.values()).filter(
    ({ subject }) => subject.zone === 'near' || subject.zone === 'water',
  );
  const y = edge + (height - edge) * 0.66;
  const ground = {
    surface: { yAt: () => y, left: width * 0.15, right: width * 0.9, depth: 0, scale: 1.15 },
    room: new Room(),
  };
  drawAll(
    guests.flatMap((entry) => placeOnGround(entry, ground, height * 0.5, chance)),
    indoors,
  );
  paintTable(indoors, composition, edge);
  lightRoom(stage, opening, isDark, hasWindow);
}

/** A low table in front with the things that the prompt puts on one. */
function paintTable(stage: Stage, composition: Composition, edge: number): void {
  const { context, width, height, random } = stage;
  const things = [...composition.mentions.values()].filter(
    ({ thing }) => TABLETOP.includes(thing) && !FURNITURE.includes(thing) && thing !== 'houseplant',
  );
  if (things.length === 0 && !composition.mentions.has('table')) return;
  const wood = composition.mentions.get('table')?.colour ?? hex('#7a5233');
  const top = { x: width * 0.36, y: edge + (height - edge) * 0.6, width: width * 0.42 };
  for (const x of [0.06, 0.9])
    fillBox(context, top.x + top.width * x, top.y, width * 0.018, height * 0.13, adjust(wood, -0.1));
  fillEllipse(
    context,
    { x: top.x + top.width / 2, y: top.y + height * 0.005 },
    top.width / 2,
    height * 0.032,
    adjust(wood, -0.09),
  );
  fillEllipse(
    context,
    { x: top.x + top.width / 2, y: top.y - height * 0.008 },
    top.width / 2,
    height * 0.032,
    mix(wood, hex('#fff0d8'), 0.18),
  );
  for (const [index, mention] of things.slice(0, 4).entries()) {
    const thing = TABLE_THINGS[mention.thing];
    if (thing === undefined) continue;
    const x = top.x + top.width * ((index + 0.5) / Math.min(4, things.length));
    thing.draw(stage, { x, y: top.y }, thing.height * 0.42 * mention.scale, {
      colour: mention.colour,
      depth: 0,
      facing: 1,
      random: random.fork(mention.thing),
    });
  }
}

/** The window's light across the floor, and the dark of the corners. */
function lightRoom(
  stage: Stage,
  opening: { x: number; y: number; width: number; height: number },
  isDark: boolean,
  hasWindow: boolean,
): void {
  const { context, width, height } = stage;
  if (hasWindow && !isDark) {
    context.save();
    context.globalCompositeOperation = 'soft-light';
    const bottom = opening.y + opening.height;
    fillShape(
      context,
      [
        { x: opening.x, y: opening.y },
        { x: opening.x + opening.width, y: opening.y },
        { x: width * 0.92, y: height },
        { x: width * 0.34, y: height },
        { x: opening.x, y: bottom },
      ],
      css(hex('#fff4d6'), 0.34),
    );
    glow(
      context,
      { x: opening.x + opening.width / 2, y: opening.y + opening.height / 2 },
      width * 0.6,
      hex('#fff2d0'),
      0.5,
    );
    context.restore();
  }
  const corner = context.createRadialGradient(
    width * 0.5,
    height * 0.5,
    Math.min(width, height) * 0.36,
    width / 2,
    height / 2,
    Math.hypot(width, height) * 0.6,
  );
  corner.addColorStop(0, css(hex('#140c08'), 0));
  corner.addColorStop(1, css(hex('#140c08'), isDark ? 0.66 : 0.36));
  context.fillStyle = corner;
  context.fillRect(0, 0, width, height);
}
