/**
 * Single things in motion. Each is painted once by the image engine's own painter, on a canvas of its size, and then
 * only moved; birds are painted in several positions of their wings.
 */
import { createCanvas } from '@napi-rs/canvas';
import { adjust, hex } from '../image/colour.ts';
import { glow } from '../image/draw.ts';
import { groundColour } from '../image/layers/ground.ts';
import { drawTufts } from '../image/layers/flora.ts';
import type { Thing } from '../image/lexicon.ts';
import type { Placed } from '../image/placement.ts';
import type { Random } from '@darkroom/seeded-random/random';
import type { Stage, Surface } from '../image/stage.ts';
import { poseOf } from './actor-motion.ts';
import type { Mover } from './actor-motion.ts';
import { project } from './camera.ts';
import { finishedPixels } from './layer-finish.ts';
import { pixelsOf, trimmed } from './raster/bitmap.ts';
import type { PlacedBitmap } from './raster/bitmap.ts';
import { draw } from './raster/drawing.ts';
import type { Part } from './scene-parts.ts';

const GLOWING: ReadonlySet<Thing> = new Set([
  'campfire',
  'lantern',
  'ufo',
  'rocket',
  'car',
  'train',
  'tent',
  'jellyfish',
] as const);

/** Positions of a bird's wings. */
const BEATS = 8;

/** Paints the contents of a box of the world; logical units. @param hasFinish whether it gets its style's finish. */
export function paintBox(
  stage: Omit<Stage, 'context'>,
  box: { readonly left: number; readonly top: number; readonly width: number; readonly height: number },
  paint: (stage: Stage) => void,
  hasFinish = false,
): PlacedBitmap | undefined {
  const { scale } = stage;
  // On whole pixels, so that the result looks as if painted on the world's own canvas.
  const [left, top] = [Math.floor(box.left * scale), Math.floor(box.top * scale)];
  const canvas = createCanvas(Math.ceil(box.width * scale) + 1, Math.ceil(box.height * scale) + 1);
  const context = canvas.getContext('2d');
  context.translate(-left, -top);
  context.scale(scale, scale);
  const layer = { ...stage, context };
  paint(layer);
  // A finish works on a whole canvas.
  const pixels = hasFinish ? finishedPixels({ ...layer, width: box.width, height: box.height }) : pixelsOf(canvas);
  const found = trimmed(pixels, canvas.width, canvas.height);
  return found === undefined ? undefined : { ...found, left: found.left + left, top: found.top + top };
}

/** A random generator with one kind of draw fixed: the value that a painter draws first is set by us. */
function withBeat(random: Random, beat: number): Random {
  return { ...random, between: () => beat };
}

/**
 * One thing as a part.
 *
 * @param surface the ground that it follows when it travels.
 */
export function actorPart(stage: Omit<Stage, 'context'>, placed: Placed, nearness: number, surface?: Surface): Part {
  const { thing, position, size, look } = placed;
  const images = imagesOf(stage, placed);
  const mover: Mover = { facing: look.facing, size, phase: look.random.fork('phase').next() };
  const { scale } = stage;
  const flames = thing === 'campfire' ? firelight(stage, placed) : undefined;
  return (frame, moment) => {
    const pose = poseOf(thing, moment.seconds, mover);
    const image = images[Math.floor(pose.beat * images.length) % images.length];
    if (image === undefined) return;
    const seen = project(moment.view, nearness);
    const follow =
      surface === undefined || pose.x === 0 ? 0 : surface.yAt(position.x + pose.x) - surface.yAt(position.x);
    const [x, y] = [(position.x + pose.x) * scale, (position.y + pose.y + follow) * scale];
    const foot = y * seen.scale + seen.y;
    if (flames !== undefined) {
      draw(frame, flames.bitmap, {
        x: flames.left * seen.scale + seen.x,
        y: flames.top * seen.scale + seen.y,
        scale: seen.scale,
        isLight: true,
        strength: 0.72 + 1.6 * (pose.tall - 1) + 0.1 * Math.sin(moment.seconds * 23),
      });
    }
    draw(frame, image.bitmap, {
      x: (x + (image.left - position.x * scale) * pose.wide) * seen.scale + seen.x,
      y: foot + (image.top - position.y * scale) * pose.tall * seen.scale,
      scale: seen.scale * pose.wide,
      scaleY: seen.scale * pose.tall,
      strength: pose.strength,
      ...(moment.shade === undefined ? {} : { shade: moment.shade }),
      ...(pose.lean === 0 ? {} : { lean: { foot, by: pose.lean } }),
      ...(pose.isCutAtFoot ? { bottom: Math.round(position.y * scale * seen.scale + seen.y) } : {}),
    });
  };
}

/** One image, or a bird's wings in several positions. */
function imagesOf(stage: Omit<Stage, 'context'>, placed: Placed): readonly PlacedBitmap[] {
  const { thing, subject, position, size, look } = placed;
  // By night a lamp or a fire lights the air around it.
  const halo = stage.palette.isDark && GLOWING.has(thing) ? 3.2 : 0;
  const half = size * (subject.half + 0.9 + halo);
  const box = {
    left: position.x - half,
    top: position.y - size * (1.7 + halo),
    width: half * 2,
    height: size * (2.7 + halo * 2),
  };
  const isStanding = subject.zone === 'near' && stage.season !== 'winter';
  const paint = (random: Random): PlacedBitmap | undefined =>
    paintBox(
      stage,
      box,
      (layer) => {
        subject.draw(layer, position, size, { ...look, random });
        if (isStanding && subject.habitat === 'meadow' && !stage.isFlat) {
          drawTufts(layer, position, size * 0.24, adjust(groundColour(layer, 'meadow'), -0.03));
        }
      },
      true,
    );
  const randoms =
    thing === 'bird'
      ? Array.from({ length: BEATS }, (_, beat) => {
          const phase = (beat / BEATS) * Math.PI * 2;
          return withBeat(look.random, 0.14 + 0.4 * Math.sin(phase));
        })
      : [look.random];
  return randoms.flatMap((random) => {
    const image = paint(random);
    return image === undefined ? [] : [image];
  });
}

/** The light of a fire on its surroundings. */
function firelight(stage: Omit<Stage, 'context'>, { position, size }: Placed): PlacedBitmap | undefined {
  const reach = size * (stage.palette.isDark ? 6.5 : 3);
  const centre = { x: position.x, y: position.y - size * 0.4 };
  const box = { left: centre.x - reach, top: centre.y - reach, width: reach * 2, height: reach * 2 };
  return paintBox(stage, box, ({ context }) => {
    glow(context, centre, reach, hex('#ff9a3c'), stage.palette.isDark ? 0.42 : 0.2);
  });
}
