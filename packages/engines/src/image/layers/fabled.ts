/**
 * Legendary things: dragons in the air, mermaids on their rock, treasure chests; and the Eiffel Tower.
 */
import { adjust, css, hex, mix } from '../colour.ts';
import {
  at,
  downwards,
  fillBox,
  fillCurve,
  fillEllipse,
  fillShape,
  glow,
  outline,
  points,
  strokeLine,
} from '../draw.ts';
import { lit } from '../palette.ts';
import type { DrawThing } from '../stage.ts';

export const drawDragon: DrawThing = (stage, centre, size, look) => {
  const { context, palette } = stage;
  const scale = lit(
    palette,
    look.colour ?? look.random.pick([hex('#a5322f'), hex('#3c7a4a'), hex('#4a4f7a')]),
    look.depth,
  );
  const shade = adjust(scale, -0.12);
  const skin = mix(scale, lit(palette, hex('#f0b060'), look.depth), 0.4);
  at(context, centre, size, look.facing, () => {
    const wing = (out: string, ribs: readonly string[], fill: typeof scale): void => {
      fillShape(context, outline(out), fill);
      for (const rib of ribs) strokeLine(context, outline(rib), 0.022, adjust(fill, -0.12));
    };
    wing(
      '0.02,-0.06 -0.1,-0.52 -0.02,-0.86 0.2,-0.6 0.46,-0.62 0.42,-0.36 0.6,-0.28 0.3,-0.06',
      ['-0.02,-0.86 0.06,-0.1', '-0.02,-0.86 0.46,-0.62', '-0.02,-0.86 0.6,-0.28'],
      mix(shade, skin, 0.35),
    );
    // Tail, body and neck as one curve that tapers.
    const spine = [
      [-1.15, 0.12, 0.01],
      [-0.98, 0.2, 0.03],
      [-0.78, 0.18, 0.05],
      [-0.56, 0.1, 0.08],
      [-0.3, 0.06, 0.14],
      [0, 0.06, 0.18],
      [0.24, 0.02, 0.15],
      [0.44, -0.1, 0.1],
      [0.58, -0.26, 0.075],
      [0.72, -0.34, 0.065],
    ] as const;
    const above = spine.map(([x, y, half]) => ({ x, y: y - half }));
    const below = spine.map(([x, y, half]) => ({ x, y: y + half })).toReversed();
    fillCurve(
      context,
      [...above, ...below],
      downwards(context, -0.4, 0.26, css(mix(scale, palette.rim, 0.3)), css(scale), css(skin)),
    );
    for (const [x, y, half] of spine.slice(1, -1))
      fillShape(
        context,
        points(x - 0.05, y - half + 0.02, x - 0.03, y - half - 0.07, x + 0.045, y - half + 0.02),
        shade,
      );
    fillShape(context, outline('-1.1,0.12 -1.34,0.02 -1.26,0.14 -1.3,0.28'), shade);
    for (const x of [-0.26, 0.16]) {
      strokeLine(context, points(x, 0.14, x - 0.06, 0.3, x + 0.04, 0.38), 0.075, shade);
      for (const toe of [0, 0.05, 0.1])
        strokeLine(context, points(x + 0.02, 0.38, x + 0.03 + toe, 0.42), 0.018, hex('#efe3c4'));
    }
    fillCurve(context, outline('0.66,-0.46 0.82,-0.48 1.06,-0.36 1.1,-0.28 0.9,-0.24 0.7,-0.24'), scale);
    fillShape(context, outline('0.78,-0.25 1.06,-0.27 1,-0.19 0.8,-0.18'), shade);
    strokeLine(context, outline('0.72,-0.44 0.56,-0.56 0.46,-0.56'), 0.03, hex('#e9dcc0'));
    fillEllipse(context, { x: 0.86, y: -0.39 }, 0.03, 0.026, hex('#ffd84a'));
    fillEllipse(context, { x: 0.865, y: -0.39 }, 0.008, 0.022, hex('#1a1414'));
    fillEllipse(context, { x: 1.05, y: -0.34 }, 0.012, 0.01, adjust(scale, -0.25));
    wing(
      '-0.06,-0.04 -0.42,-0.4 -0.52,-0.9 -0.2,-0.72 0.02,-0.86 0.08,-0.56 0.32,-0.56 0.18,-0.04',
      ['-0.52,-0.9 -0.04,-0.08', '-0.52,-0.9 0.02,-0.86', '-0.52,-0.9 0.32,-0.56', '-0.52,-0.9 0.1,-0.1'],
      skin,
    );
    strokeLine(context, outline('-0.04,-0.02 -0.42,-0.4 -0.52,-0.92'), 0.045, shade);
    if (look.colour === undefined || palette.isDark) {
      glow(context, { x: 1.3, y: -0.2 }, 0.42, hex('#ff8a2c'), 0.75);
      fillCurve(context, outline('1.04,-0.25 1.3,-0.3 1.62,-0.12 1.4,-0.1 1.5,0.02 1.2,-0.12'), hex('#ffb03a'));
      fillCurve(context, outline('1.06,-0.24 1.26,-0.25 1.42,-0.14 1.2,-0.16'), hex('#fff0b0'));
    }
  });
};

export const drawMermaid: DrawThing = (stage, foot, size, look) => {
  const { context, palette } = stage;
  const tail = lit(
    palette,
    look.colour ?? look.random.pick([hex('#2f9c8c'), hex('#3f7fb8'), hex('#7a5fb0')]),
    look.depth,
  );
  const skin = lit(palette, look.random.pick([hex('#e9bd98'), hex('#c08a62'), hex('#8a5a3e')]), look.depth);
  const hair = lit(palette, look.random.pick([hex('#b5482a'), hex('#e0b25c'), hex('#2f2220')]), look.depth);
  const stone = lit(palette, hex('#6f6c70'), look.depth);
  at(context, foot, size, look.facing, () => {
    fillCurve(context, outline('-0.7,0.02 -0.62,-0.22 -0.3,-0.34 0.2,-0.3 0.55,-0.18 0.72,0.02'), stone);
    fillCurve(
      context,
      outline('-0.6,-0.2 -0.3,-0.32 0.2,-0.28 0.3,-0.22 -0.2,-0.24'),
      css(mix(stone, palette.rim, 0.5), 0.8),
    );
    fillCurve(context, outline('-0.2,-0.9 -0.26,-0.66 -0.22,-0.44 -0.06,-0.4 -0.02,-0.8'), adjust(hair, -0.05));
    fillCurve(
      context,
      outline('-0.16,-0.46 -0.18,-0.3 0,-0.2 0.3,-0.22 0.56,-0.1 0.76,-0.14 0.72,-0.2 0.5,-0.26 0.26,-0.36 0.06,-0.46'),
      downwards(context, -0.5, -0.1, css(mix(tail, palette.rim, 0.4)), css(tail), css(adjust(tail, -0.1))),
    );
    for (let row = 0; row < 3; row++)
      for (let mark = 0; mark < 6; mark++)
        fillEllipse(
          context,
          { x: -0.08 + mark * 0.075 + row * 0.02, y: -0.36 + row * 0.045 + mark * 0.016 },
          0.022,
          0.014,
          css(mix(tail, palette.rim, 0.5), 0.5),
        );
    fillCurve(
      context,
      outline('0.7,-0.15 0.86,-0.32 1.02,-0.34 0.94,-0.2 1.02,-0.04 0.86,-0.06 0.72,-0.18'),
      mix(tail, palette.rim, 0.2),
    );
    fillCurve(context, outline('-0.15,-0.7 -0.16,-0.56 -0.17,-0.42 0.07,-0.42 0.06,-0.56 0.07,-0.7 -0.04,-0.73'), skin);
    fillEllipse(context, { x: -0.09, y: -0.6 }, 0.055, 0.04, lit(palette, hex('#c65a7c'), look.depth));
    fillEllipse(context, { x: 0.02, y: -0.6 }, 0.055, 0.04, lit(palette, hex('#c65a7c'), look.depth));
    strokeLine(context, outline('0.05,-0.68 0.14,-0.54 0.16,-0.36'), 0.045, skin);
    strokeLine(context, outline('-0.14,-0.68 -0.24,-0.52 -0.26,-0.32'), 0.045, adjust(skin, -0.05));
    fillBox(context, -0.065, -0.79, 0.06, 0.1, adjust(skin, -0.04));
    fillEllipse(context, { x: -0.02, y: -0.86 }, 0.085, 0.1, skin);
    fillCurve(
      context,
      outline('0.07,-0.92 0,-0.99 -0.1,-0.97 -0.15,-0.84 -0.2,-0.6 -0.12,-0.56 -0.09,-0.8 -0.04,-0.9'),
      hair,
    );
    fillEllipse(context, { x: 0.02, y: -0.86 }, 0.01, 0.013, hex('#2a1b18'));
    strokeLine(context, outline('0.015,-0.815 0.045,-0.82'), 0.01, hex('#b5444a'));
  });
};

export const drawChest: DrawThing = (stage, foot, size, look) => {
  const { context, palette } = stage;
  const wood = lit(palette, look.colour ?? hex('#7a4a2a'), look.depth);
  const iron = lit(palette, hex('#c99a3c'), look.depth);
  const gold = lit(palette, hex('#f2c040'), look.depth);
  at(context, foot, size, look.facing, () => {
    fillEllipse(context, { x: 0, y: 0 }, 1, 0.06, css(palette.land, 0.45));
    fillCurve(context, outline('-0.8,-0.5 -0.86,-0.86 -0.5,-1.02 0.5,-1.02 0.86,-0.86 0.8,-0.5'), adjust(wood, -0.12));
    fillCurve(context, outline('-0.68,-0.52 -0.72,-0.8 0,-0.94 0.72,-0.8 0.68,-0.52'), adjust(wood, -0.24));
    glow(context, { x: 0, y: -0.6 }, 1.1, hex('#ffd766'), 0.5);
    for (let coin = 0; coin < 46; coin++) {
      const x = (((coin * 37) % 46) / 46 - 0.5) * 1.36;
      const y = -0.5 - (0.2 - x * x * 0.34) * (((coin * 53) % 46) / 46);
      fillEllipse(
        context,
        { x, y },
        0.075,
        0.05,
        coin % 3 === 0 ? adjust(gold, -0.08) : coin % 3 === 1 ? gold : mix(gold, hex('#fff6cc'), 0.5),
        ((coin * 17) % 10) / 10,
      );
    }
    for (const [x, colour] of [
      [-0.34, '#c62f3c'],
      [0.28, '#2f8fd0'],
      [0.02, '#2fae6a'],
    ] as const)
      fillShape(
        context,
        points(x - 0.06, -0.66, x, -0.74, x + 0.06, -0.66, x, -0.57),
        lit(palette, hex(colour), look.depth),
      );
    fillBox(
      context,
      -0.8,
      -0.52,
      1.6,
      0.52,
      downwards(context, -0.52, 0, css(mix(wood, palette.rim, 0.25)), css(wood), css(adjust(wood, -0.12))),
    );
    for (const y of [-0.35, -0.18]) fillBox(context, -0.8, y, 1.6, 0.014, adjust(wood, -0.16));
    for (const x of [-0.8, -0.4, 0.3, 0.7]) fillBox(context, x, -0.52, 0.1, 0.52, iron);
    fillBox(context, -0.84, -0.55, 1.68, 0.08, iron);
    fillBox(context, -0.1, -0.5, 0.2, 0.22, mix(iron, hex('#fff2c4'), 0.3));
    fillEllipse(context, { x: 0, y: -0.41 }, 0.032, 0.036, hex('#2a1b12'));
  });
};

/** The Eiffel Tower: four legs that meet, three platforms, a lattice of iron. */
export const drawEiffel: DrawThing = (stage, foot, size, look) => {
  const { context, palette } = stage;
  const iron = mix(lit(palette, look.colour ?? hex('#7a5f4a'), look.depth), palette.haze, look.depth * 0.4);
  const bright = palette.isDark ? hex('#ffca6a') : mix(iron, palette.rim, 0.5);
  at(context, foot, size, 1, () => {
    if (palette.isDark) glow(context, { x: 0, y: -0.5 }, 0.6, hex('#ffb54a'), 0.4);
    const halfAt = (up: number): number => 0.012 + 0.2 * (1 - up) ** 2.6;
    for (const side of [-1, 1]) {
      const leg = Array.from({ length: 13 }, (_, step) => ({ x: side * halfAt(step / 12), y: -(step / 12) * 0.9 }));
      const inner = Array.from({ length: 13 }, (_, step) => {
        const up = step / 12;
        return { x: side * Math.max(0, halfAt(up) - 0.075 * (1 - up) - 0.012), y: -up * 0.9 };
      });
      fillShape(context, [...leg, ...inner.toReversed()], iron);
    }
    for (let cross = 0; cross < 26; cross++) {
      const [low, high] = [cross / 26, (cross + 1) / 26];
      const [wide, narrow] = [halfAt(low), halfAt(high)];
      if (low > 0.24) {
        strokeLine(context, points(-wide, -low * 0.9, narrow, -high * 0.9), 0.004, bright, 0.8);
        strokeLine(context, points(wide, -low * 0.9, -narrow, -high * 0.9), 0.004, bright, 0.8);
      } else {
        for (const side of [-1, 1])
          strokeLine(
            context,
            points(side * wide, -low * 0.9, side * (narrow - 0.06 * (1 - high)), -high * 0.9),
            0.004,
            bright,
            0.8,
          );
      }
    }
    strokeLine(context, outline('-0.1,-0.02 -0.075,-0.12 0,-0.165 0.075,-0.12 0.1,-0.02'), 0.014, iron);
    for (const [y, half] of [
      [-0.2, 0.115],
      [-0.4, 0.062],
      [-0.86, 0.026],
    ] as const) {
      fillBox(context, -half, y, half * 2, 0.022, iron);
      fillBox(context, -half, y, half * 2, 0.006, bright);
    }
    fillBox(context, -0.014, -0.92, 0.028, 0.06, iron);
    strokeLine(context, outline('0,-0.92 0,-1'), 0.007, iron);
    if (palette.isDark) glow(context, { x: 0, y: -0.94 }, 0.12, hex('#ffe9b0'), 0.9);
  });
};
