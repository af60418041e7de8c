/**
 * The world below the surface: water that bends the view, shafts of light that sweep, swimmers, bubbles that rise.
 */
import { css, hex } from '../image/colour.ts';
import { fillEllipse, fillShape, points } from '../image/draw.ts';
import { drawUndersea } from '../image/layers/undersea.ts';
import { placeInArea, Room } from '../image/placement.ts';
import type { Placed } from '../image/placement.ts';
import { castOf } from '../image/scene-painting.ts';
import type { Stage } from '../image/stage.ts';
import { actorPart, paintBox } from './actors.ts';
import type { LayerPainter } from './layer-painter.ts';
import { createSprite, stamp } from './raster/sprites.ts';
import { layerPart } from './scene-parts.ts';
import type { Part } from './scene-parts.ts';
import type { WorldStage } from './world-stage.ts';

/** The parts of a world below the surface. @param placed receives all swimming things. */
export function underseaParts(painter: LayerPainter, world: WorldStage, placed: Placed[]): Part[] {
  const { stage } = painter;
  const { width, height } = stage;
  const random = stage.random.fork('placing');
  const area = { left: width * 0.16, right: width * 0.84, top: height * 0.22, bottom: height * 0.7 };
  const room = new Room();
  const { near, afloat, aloft, middle } = castOf(world.composition);
  const sea = painter.paintFull((layer) => drawUndersea(layer));
  const things = [...near, ...afloat, ...aloft, ...middle]
    .flatMap((entry) => placeInArea(entry, area, room, { random, isWater: false }))
    .toSorted((first, second) => first.size - second.size);
  placed.push(...things);
  return [
    layerPart(sea, 0.4, {
      bend: (y, position, { seconds }) => {
        position.x += Math.sin(y * 0.021 + seconds * 1.1) * 1.7 * stage.scale;
      },
    }),
    ...[0, 1, 2].map((shaft) => shaftPart(stage, shaft)),
    bubblePart(stage),
    ...things.map((thing) => actorPart(stage, thing, 0.6)),
  ];
}

/** One broad shaft of light that sweeps slowly and fades in and out. */
function shaftPart(stage: Stage, index: number): Part {
  const { width, height, palette } = stage;
  const random = stage.random.fork(`shaft ${index}`);
  const x = width * (0.22 + 0.28 * index + random.between(-0.06, 0.06));
  const wide = random.between(50, 110);
  const bright = palette.isDark ? hex('#3f86b8') : hex('#c6fff4');
  const box = { left: x - wide * 3, top: 0, width: wide * 6, height: height * 0.9 };
  const shaft = paintBox(stage, box, ({ context }) => {
    const gradient = context.createLinearGradient(0, 0, 0, height * 0.88);
    gradient.addColorStop(0, css(bright, 0.26));
    gradient.addColorStop(1, css(bright, 0));
    const edges = points(
      x - wide * 0.35,
      0,
      x + wide * 0.35,
      0,
      x + wide * 1.6,
      height * 0.88,
      x - wide * 1.2,
      height * 0.88,
    );
    context.filter = `blur(${Math.round(9 * stage.scale)}px)`;
    fillShape(context, edges, gradient);
    context.filter = 'none';
  });
  return layerPart(shaft, 0.3, {
    isLight: true,
    strength: ({ seconds }) => 0.55 + 0.4 * Math.sin(seconds * 0.6 + index * 2.1),
    sway: 46 * stage.scale,
  });
}

function bubblePart(stage: Stage): Part {
  const random = stage.random.fork('bubbles');
  const sprites = [1.6, 3, 5.5, 8.5].map((radius) => {
    const size = radius * stage.scale;
    return createSprite({ width: size * 2.6, height: size * 2.6 }, (context) => {
      context.beginPath();
      context.arc(0, 0, size, 0, Math.PI * 2);
      context.lineWidth = Math.max(0.7, 0.9 * stage.scale);
      context.strokeStyle = css(hex('#d8fbff'), 0.6);
      context.stroke();
      fillEllipse(context, { x: -size * 0.3, y: -size * 0.3 }, size * 0.26, size * 0.2, css(hex('#ffffff'), 0.75));
    });
  });
  const bubbles = Array.from({ length: 64 }, () => {
    const kind = Math.floor(random.next() ** 1.8 * 4);
    return { x: random.next(), y: random.next(), kind, speed: 0.06 + kind * 0.035, phase: random.between(0, 7) };
  });
  return (frame, { seconds, view }) => {
    for (const { x, y, kind, speed, phase } of bubbles) {
      const sprite = sprites[kind];
      if (sprite === undefined) continue;
      const height = (((y - seconds * speed) % 1.1) + 1.1) % 1.1;
      const at = x + Math.sin(seconds * 2.4 + phase) * 0.006 - view.camera.x * 0.7;
      stamp(frame, sprite, (((at % 1) + 1) % 1) * frame.width, (height - 0.05) * frame.height, 0.85);
    }
  };
}
