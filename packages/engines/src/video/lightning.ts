/**
 * Lightning: bolts at random but reproducible moments, each a few flickers of light over the sky. The audio of a video
 * uses the same moments.
 */
import { hex } from '../image/colour.ts';
import { fillBox } from '../image/draw.ts';
import { drawLightning } from '../image/layers/weather.ts';
import type { Random } from '@darkroom/seeded-random/random';
import type { Stage } from '../image/stage.ts';
import { paintBox } from './actors.ts';
import { layerPart } from './scene-parts.ts';
import type { Part } from './scene-parts.ts';

/** A flash and how far away it is: its thunder comes later and softer. */
interface Strike {
  readonly at: number;
  readonly far: number;
}

/** The flashes of a shot, about one every three seconds. */
export function strikesOf(random: Random): readonly Strike[] {
  const chance = random.fork('strikes');
  let at = chance.between(0.5, 1.2);
  return Array.from({ length: 16 }, () => {
    const strike = { at, far: chance.next() };
    at += chance.between(2.1, 4.2);
    return strike;
  });
}

/** The brightness of a flash at an age in seconds: three flickers, each weaker. */
function flicker(age: number): number {
  if (age < 0 || age > 0.62) return 0;
  const pulse = (at: number, strength: number): number => (age < at ? 0 : strength * Math.exp(-(age - at) * 17));
  return Math.min(1, pulse(0, 1) + pulse(0.12, 0.75) + pulse(0.27, 0.5));
}

export function lightningPart(stage: Omit<Stage, 'context'>): Part {
  const strikes = strikesOf(stage.random);
  const box = { left: 0, top: 0, width: stage.width, height: stage.horizon };
  const bolts = [0, 1, 2].map((index) => {
    const bolt = paintBox(stage, box, (layer) =>
      drawLightning({ ...layer, random: stage.random.fork(`bolt ${index}`) }),
    );
    return layerPart(bolt, 0.1, { isLight: true, isShaded: false, strength: ({ progress }) => progress });
  });
  const sheet = layerPart(
    paintBox(stage, box, ({ context }) => fillBox(context, 0, 0, stage.width, stage.horizon, hex('#3d4668'))),
    0.1,
    { isLight: true, isShaded: false, strength: ({ progress }) => progress },
  );
  return (frame, moment) => {
    for (const [index, { at, far }] of strikes.entries()) {
      const light = flicker(moment.seconds - at);
      if (light < 0.02) continue;
      sheet(frame, { ...moment, progress: light * (1 - far * 0.5) });
      bolts[index % bolts.length]?.(frame, { ...moment, progress: light });
    }
  };
}
