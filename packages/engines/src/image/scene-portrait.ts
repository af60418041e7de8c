/**
 * A portrait: head and shoulders in front of a blurred background, or of the land that the prompt names.
 */
import { adjust, css, hex, mix } from './colour.ts';
import type { Composition } from './composition.ts';
import { fillEllipse, glow } from './draw.ts';
import { hasAny, LANDS } from './lands.ts';
import { drawSitter } from './layers/face.ts';
import { drawSky } from './layers/sky.ts';
import { readSitter } from './portrait-reading.ts';
import type { Sitter } from './portrait-reading.ts';
import type { Mention } from './prompt-reading.ts';
import type { Random } from '@darkroom/seeded-random/random';
import { paintBackdrop, paintSky } from './scene-backdrop.ts';
import { paintTable } from './scene-table.ts';
import type { Point, Stage } from './stage.ts';
import { TABLE_THINGS } from './tabletop.ts';

/** Discs of light out of focus. */
function paintBokeh(stage: Stage): void {
  const { context, width, height, palette, random } = stage;
  const chance = random.fork('bokeh');
  const [top, high, low, bottom] = palette.sky;
  const ground = context.createRadialGradient(
    width * 0.32,
    height * 0.34,
    0,
    width * 0.5,
    height * 0.5,
    Math.hypot(width, height) * 0.62,
  );
  ground.addColorStop(0, css(mix(low, bottom, 0.5)));
  ground.addColorStop(0.55, css(mix(high, low, 0.5)));
  ground.addColorStop(1, css(adjust(top, -0.08)));
  context.fillStyle = ground;
  context.fillRect(0, 0, width, height);
  context.save();
  context.globalCompositeOperation = 'screen';
  for (let disc = 0; disc < 26; disc++) {
    const position = { x: chance.between(0, width), y: chance.between(0, height * 0.95) };
    const radius = chance.between(14, 70);
    const colour = chance.pick([palette.rim, palette.sun, bottom, mix(palette.foliage, low, 0.4)]);
    fillEllipse(context, position, radius, radius, css(colour, chance.between(0.05, 0.17)));
    context.lineWidth = 2;
    context.strokeStyle = css(colour, 0.12);
    context.stroke();
  }
  context.restore();
}

interface SitterPlacement {
  readonly sitter: Sitter;
  /** The middle of the face, and the height of the head. */
  readonly centre: Point;
  readonly size: number;
}

/** The edge of a table in front of the sitters, as a fraction of the height. */
const TABLE = 0.82;

/** The positions of the sitters: one in the middle, two or three side by side, the outer ones in front. */
function placeSitters(
  composition: Composition,
  { width, height }: { readonly width: number; readonly height: number },
  random: Random,
): SitterPlacement[] {
  const { mentions, words } = composition;
  const isCouple = mentions.has('couple');
  const count = Math.max(isCouple ? 2 : 1, Math.min(3, mentions.get(isCouple ? 'couple' : 'person')?.count ?? 1));
  const hasTable = mentions.has('table');
  const placements = Array.from({ length: count }, (_, index): SitterPlacement => {
    const sitter = readSitter(words, random.fork(index === 0 ? 'sitter' : `sitter ${index}`));
    // Headwear needs space above the head.
    const isTall = sitter.headWear === 'crown' || sitter.headWear === 'hat';
    const most = count === 1 ? 0.62 : count === 2 ? 0.4 : 0.29;
    const size = Math.min(height * (isTall ? 0.48 : hasTable ? 0.46 : 0.56), width * most);
    const x = width * (count === 1 ? 0.5 : count === 2 ? (index === 0 ? 0.29 : 0.71) : ([0.2, 0.8, 0.5][index] ?? 0.5));
    const foot = hasTable ? height * 0.93 : height;
    return {
      sitter,
      centre: { x, y: Math.max(height * 0.42, foot - size * (count === 3 && index === 2 ? 1.42 : 1.24)) },
      size,
    };
  });
  return placements.toSorted((one, other) => one.centre.y - other.centre.y);
}

/** A table in front, with the things that the prompt puts on it, or a cup for each. */
function layTable(stage: Stage, composition: Composition): void {
  const { width, height, random } = stage;
  const edge = height * TABLE;
  const wood = composition.mentions.get('table')?.colour ?? hex('#8a5a36');
  paintTable(stage, stage.palette.isDark ? adjust(wood, -0.1) : wood, edge);
  const named = [...composition.mentions.values()].filter(({ thing }) => TABLE_THINGS[thing] !== undefined);
  const cup: Mention = { thing: 'cup', colour: undefined, count: 2, scale: 1 };
  const laid = (named.length > 0 ? named : [cup]).flatMap((mention) =>
    Array.from({ length: Math.min(3, mention.count) }, () => mention),
  );
  const light = { ...stage, palette: { ...stage.palette, land: hex('#2a1c14'), isDark: false, light: hex('#fff4e4') } };
  for (const [index, mention] of laid.slice(0, 5).entries()) {
    const thing = TABLE_THINGS[mention.thing];
    const x = width * (laid.length === 1 ? 0.5 : 0.2 + (0.6 * index) / Math.min(4, laid.length - 1));
    thing?.draw(light, { x, y: edge + height * 0.1 }, Math.min(height * 0.24, thing.height * 0.62), {
      colour: mention.colour,
      depth: 0,
      facing: 1,
      random: random.fork(`laid ${index}`),
    });
  }
}

/** Paints a portrait of the people that the prompt describes. */
export function paintPortrait(stage: Stage, composition: Composition): void {
  const { width, height, palette, random, context } = stage;
  const isOutside = hasAny(composition.mentions, LANDS);
  if (isOutside) {
    const far = { ...stage, horizon: height * 0.7 };
    paintSky(far, { ...composition, setting: 'land' });
    paintBackdrop(far, { ...composition, setting: 'land' });
    const haze = context.createLinearGradient(0, height * 0.55, 0, height);
    haze.addColorStop(0, css(palette.haze, 0));
    haze.addColorStop(0.6, css(mix(palette.haze, palette.grass, 0.5), 0.92));
    haze.addColorStop(1, css(adjust(palette.grass, -0.08)));
    context.fillStyle = haze;
    context.fillRect(0, 0, width, height);
  } else {
    drawSky(stage);
    paintBokeh(stage);
  }
  for (const position of placeSitters(composition, { width, height }, random)) {
    const { sitter, centre, size } = position;
    glow(
      context,
      { x: centre.x - size * 0.5, y: centre.y - size * 0.3 },
      size * 1.5,
      palette.rim,
      palette.isDark ? 0.2 : 0.3,
    );
    const indoors = {
      ...stage,
      palette: { ...palette, light: palette.isDark ? mix(palette.light, hex('#ffe2c4'), 0.65) : palette.light },
    };
    drawSitter(indoors, centre, size, sitter);
  }
  if (composition.mentions.has('table')) layTable(stage, composition);
  const corner = context.createRadialGradient(
    width * 0.5,
    height * 0.42,
    Math.min(width, height) * 0.42,
    width / 2,
    height / 2,
    Math.hypot(width, height) * 0.6,
  );
  corner.addColorStop(0, css(adjust(palette.sky[0], -0.2), 0));
  corner.addColorStop(1, css(adjust(palette.sky[0], -0.25), 0.5));
  context.fillStyle = corner;
  context.fillRect(0, 0, width, height);
}
