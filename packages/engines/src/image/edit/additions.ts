/**
 * Things that a prompt adds to an image, painted in its light at suitable positions: in the air, on the ground, on
 * water; another sky; and lettering.
 */
import { hex, lightness, mix } from '../colour.ts';
import type { Colour } from '../colour.ts';
import { drawLightSource, drawPlanet } from '../layers/celestial.ts';
import { drawFlowerBed } from '../layers/flora.ts';
import { compose } from '../composition.ts';
import { letter } from '../lettering.ts';
import type { Thing } from '../lexicon.ts';
import { choosePalette } from '../palette.ts';
import { drawAll, placeInArea, placeOnGround, Room, subjectsOf } from '../placement.ts';
import type { Entry } from '../placement.ts';
import { readPrompt } from '../prompt-reading.ts';
import { paintSky } from '../scene-backdrop.ts';
import { paintTrees, TREE_KINDS } from '../scene-trees.ts';
import type { Stage, Surface } from '../stage.ts';
import { drawInSky } from './light.ts';
import { stageOver } from './image-stage.ts';
import type { Workpiece } from './workpiece.ts';

/** The ground of an image for things to stand on: level, at the height of the near ground of a scene. */
function groundOf(stage: Stage): Surface {
  const y = stage.horizon + (stage.height - stage.horizon) * 0.62;
  return { yAt: () => y, left: stage.width * 0.04, right: stage.width * 0.96, depth: 0, scale: 1 };
}

/** Adds the things that a text names. */
export function addThings(work: Workpiece, words: string): void {
  const reading = readPrompt(words);
  const named = new Map(reading.mentions.map((mention) => [mention.thing, mention]));
  const has = (thing: Thing): boolean => named.has(thing);
  const body = named.get('sun') ?? named.get('moon') ?? named.get('crescent');
  const isMoon = has('moon') || has('crescent');
  if (body !== undefined || has('planet')) {
    const side = work.features.brightest.x < 0.5 ? 0.26 : 0.74;
    const paint = (stage: Stage): void => {
      const light = {
        ...stage.light,
        x: stage.width * side,
        y: stage.horizon * 0.36,
        body: has('crescent') ? ('crescent' as const) : isMoon ? ('moon' as const) : ('sun' as const),
        isVisible: true,
        radius: 62 * (body?.scale ?? 1),
      };
      if (body !== undefined) drawLightSource({ ...stage, light }, body.colour);
      const planet = named.get('planet');
      if (planet === undefined) return;
      drawPlanet(
        stage,
        { x: stage.width * (1 - side), y: stage.horizon * 0.4 },
        120 * planet.scale,
        planet.colour ?? hex('#d98a5c'),
      );
    };
    if (work.sky.share > 0.06) drawInSky(work, isMoon ? 'night' : 'noon', 'bodies', paint);
    else work.draw((canvas) => paint(stageOver(canvas, work, { name: 'bodies' })));
  }
  work.draw((canvas) => {
    const stage = stageOver(canvas, work, { name: `add ${words}` });
    const { width, height, horizon } = stage;
    const random = stage.random.fork('adding');
    const entries = subjectsOf(reading.mentions.values());
    const of = (...positions: string[]): Entry[] => entries.filter(({ subject }) => positions.includes(subject.zone));
    const room = new Room();
    const ground = { surface: groundOf(stage), room };
    // The subject of the image stays visible.
    const { subject } = work;
    if (subject.clarity > 0.2) {
      const centre = ((subject.left + subject.right) / 2) * width;
      room.take([centre], ((subject.right - subject.left) / 2) * width * 0.8);
    }
    const air = {
      left: width * 0.05,
      right: width * 0.95,
      top: Math.min(horizon, height * 0.7) * 0.14,
      bottom: Math.min(horizon, height * 0.7) * 0.72,
    };
    const water = {
      left: width * 0.06,
      right: width * 0.94,
      top: horizon + (height - horizon) * 0.12,
      bottom: height * 0.92,
    };
    const trees = TREE_KINDS.filter(has);
    if (trees.length > 0) paintTrees(stage, { ...compose(reading, random), mentions: named }, ground);
    drawAll(
      [
        ...of('air').flatMap((entry) => placeInArea(entry, air, new Room(), { random, isWater: false })),
        ...of('water').flatMap((entry) => placeInArea(entry, water, room, { random, isWater: true })),
        ...of('middle', 'near').flatMap((entry) => placeOnGround(entry, ground, height * 0.6, random)),
      ],
      stage,
    );
    if (has('flower')) drawFlowerBed(stage, ground.surface, named.get('flower')?.colour, 1.4);
  });
}

/** Replaces the sky by the one that a text describes; an image without a sky only takes its light. */
export function changeSky(work: Workpiece, words: string): void {
  const reading = readPrompt(words);
  const random = work.random.fork('sky');
  const composition = compose(reading, random.fork('composition'));
  const time = reading.time ?? composition.time;
  const palette = choosePalette(reading, time, composition.season, random.fork('palette'));
  const paint = (stage: Stage): void => {
    const light = {
      ...stage.light,
      y: stage.horizon * 0.5,
      isVisible: true,
      body: time === 'night' ? ('moon' as const) : ('sun' as const),
    };
    paintSky(
      { ...stage, palette, light, weather: reading.weather },
      { ...composition, setting: 'land', weather: reading.weather },
    );
  };
  if (work.sky.share > 0) drawInSky(work, time, 'other sky', paint);
}

/** The mean colour of a band, as shares of the height. */
function bandColour({ pixels }: Workpiece, top: number, bottom: number): Colour {
  const { width, height, data } = pixels;
  let [red, green, blue, count] = [0, 0, 0, 0];
  for (let row = Math.floor(height * top); row < Math.floor(height * bottom); row += 3) {
    for (let column = 0; column < width; column += 3) {
      const position = (row * width + column) * 4;
      red += data[position] ?? 0;
      green += data[position + 1] ?? 0;
      blue += data[position + 2] ?? 0;
      count += 1;
    }
  }
  const many = Math.max(1, count);
  return [red / many, green / many, blue / many];
}

/** Writes texts on the image, the first large, in a colour that is readable there. */
export function drawLettering(
  work: Workpiece,
  texts: readonly string[],
  position: 'top' | 'middle' | 'bottom',
  words: string,
): void {
  if (texts.length === 0) return;
  const band = { top: [0.04, 0.34], middle: [0.34, 0.66], bottom: [0.68, 0.96] } as const;
  const [from, to] = band[position];
  const under = bandColour(work, from, to);
  const reading = readPrompt(words);
  const isLight = lightness(under) > 0.68;
  const named = /\b(?:text|letters|lettering|words?|title|caption)\b/.test(words) ? reading.colours[0] : undefined;
  const colour = named ?? (isLight ? mix(under, hex('#14141c'), 0.92) : mix(under, hex('#ffffff'), 0.94));
  work.draw((canvas) => {
    const { context, width, height } = stageOver(canvas, work, { name: 'letters' });
    const shade = context.createLinearGradient(0, height * (from - 0.08), 0, height * (to + 0.08));
    const veil = isLight ? '255, 255, 255' : '0, 0, 0';
    shade.addColorStop(0, `rgba(${veil}, 0)`);
    shade.addColorStop(0.5, `rgba(${veil}, 0.28)`);
    shade.addColorStop(1, `rgba(${veil}, 0)`);
    context.fillStyle = shade;
    context.fillRect(0, height * (from - 0.08), width, height * (to - from + 0.16));
    let top = height * from;
    const room = height * (to - from);
    for (const [index, text] of texts.entries()) {
      const isFirst = index === 0;
      const box = {
        x: width * 0.07,
        y: top,
        width: width * 0.86,
        height: isFirst ? room * (texts.length > 1 ? 0.68 : 1) : (room * 0.3) / (texts.length - 1),
      };
      const bottom = letter(context, text, box, {
        weight: isFirst ? 900 : 700,
        colour,
        largest: isFirst ? Math.min(170, width * 0.2) : 44,
        smallest: 14,
        align: 'center',
        anchor: texts.length > 1 ? 'top' : 'middle',
        tracking: isFirst ? -0.01 : 0.08,
        ...(isLight ? {} : { shadow: hex('#000000') }),
      });
      if (bottom !== undefined) top = bottom + height * 0.015;
    }
  });
}
