/**
 * Fireworks: a rocket climbs, bursts, and its sparks slow down, fall and go out.
 */
import { css, hex, mix } from '../image/colour.ts';
import type { Composition } from '../image/composition.ts';
import { fillEllipse, glow } from '../image/draw.ts';
import type { Stage } from '../image/stage.ts';
import { project } from './camera.ts';
import { createSprite, stamp } from './raster/sprites.ts';
import type { Part } from './scene-parts.ts';

const HUES = ['#ffd45c', '#ff6f91', '#6fe3ff', '#b58bff', '#8dff9e'] as const;
const CLIMB_SECONDS = 0.9;
const BURST_SECONDS = 2.1;

/** When each firework begins to climb: seconds of the shot; those before its start are omitted. */
export function launchTimes(stage: Pick<Stage, 'random'>, count: number, seconds: number): readonly number[] {
  return launches(stage, count)
    .map(({ at }) => at)
    .filter((at) => at >= 0 && at < seconds);
}

function launches(
  stage: Pick<Stage, 'random'>,
  count: number,
): readonly { readonly at: number; readonly name: string }[] {
  const random = stage.random.fork('fireworks');
  const every = 0.95 / Math.min(2.4, 0.7 + count * 0.3);
  return Array.from({ length: 60 }, (_, index) => ({
    // The first has burst when the shot begins.
    at: index * every * random.between(0.8, 1.2) - CLIMB_SECONDS - 0.5,
    name: `rocket ${index}`,
  }));
}

export function fireworkParts(stage: Omit<Stage, 'context'>, composition: Composition): Part[] {
  const { scale, width, horizon } = stage;
  const dot = 4.5 * scale;
  const sprites = HUES.map((hue) =>
    createSprite({ width: dot * 2, height: dot * 2 }, (context) => {
      glow(context, { x: 0, y: 0 }, dot, hex(hue), 0.85);
      fillEllipse(context, { x: 0, y: 0 }, dot * 0.24, dot * 0.24, css(mix(hex(hue), hex('#ffffff'), 0.7)));
    }),
  );
  const rockets = launches(stage, composition.mentions.get('firework')?.count ?? 1).map(({ at, name }) => {
    const random = stage.random.fork(name);
    return {
      at,
      x: width * random.between(0.22, 0.78),
      y: horizon * random.between(0.18, 0.42),
      reach: random.between(110, 190),
      hue: random.integer(0, HUES.length - 1),
      sparks: Array.from({ length: 90 }, () => ({
        angle: random.between(0, Math.PI * 2),
        speed: Math.sqrt(random.between(0.12, 1)),
        phase: random.between(0, 9),
      })),
    };
  });
  return [
    (frame, { view, seconds }) => {
      const seen = project(view, 0.15);
      const put = (hue: number, x: number, y: number, strength: number): void => {
        const sprite = sprites[hue % sprites.length];
        if (sprite === undefined) return;
        stamp(frame, sprite, x * scale * seen.scale + seen.x, y * scale * seen.scale + seen.y, strength, true);
      };
      for (const rocket of rockets) {
        const age = seconds - rocket.at;
        if (age < 0 || age > CLIMB_SECONDS + BURST_SECONDS) continue;
        if (age < CLIMB_SECONDS) {
          for (let tail = 0; tail < 9; tail++) {
            const share = Math.max(0, age - tail * 0.025) / CLIMB_SECONDS;
            const up = 1 - (1 - share) ** 2;
            put(0, rocket.x + Math.sin(share * 9) * 2, horizon - (horizon - rocket.y) * up, 0.5 * (1 - tail / 9));
          }
          continue;
        }
        const part = (age - CLIMB_SECONDS) / BURST_SECONDS;
        const spread = 1 - (1 - part) ** 3.2;
        for (const { angle, speed, phase } of rocket.sparks) {
          const far = rocket.reach * speed * spread;
          const twinkle = part > 0.45 ? 0.6 + 0.4 * Math.sin(seconds * 24 + phase * 5) : 1;
          const [x, y] = [rocket.x + Math.cos(angle) * far, rocket.y + Math.sin(angle) * far + part * part * 58];
          put(rocket.hue, x, y, (1 - part) ** 1.3 * twinkle);
        }
      }
    },
  ];
}
