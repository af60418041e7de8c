/**
 * Animals that swim: fish and jellyfish, whales and dolphins that show above the water, swans on it.
 */
import { adjust, css, hex, mix } from '../colour.ts';
import { at, fillCurve, fillEllipse, fillShape, outline, points, strokeLine } from '../draw.ts';
import { lit } from '../palette.ts';
import type { DrawThing } from '../stage.ts';

export const drawFish: DrawThing = (stage, centre, size, look) => {
  const { context } = stage;
  const [paint, fin] = look.random.pick([
    ['#f58a2c', '#fff3df'],
    ['#f2c53a', '#2f5fa8'],
    ['#4aa3d8', '#f4e06a'],
    ['#e8557f', '#ffd3a8'],
  ] as const);
  const body = mix(look.colour ?? hex(paint), stage.palette.water, look.depth * 0.6);
  const band = mix(hex(fin), stage.palette.water, look.depth * 0.6);
  at(context, centre, size, look.facing, () => {
    fillCurve(context, outline('-0.55,0 -0.95,-0.42 -1,-0.3 -0.86,0 -1,0.3 -0.95,0.42'), adjust(body, -0.05));
    fillCurve(context, outline('-0.2,-0.3 -0.1,-0.66 0.3,-0.5 0.35,-0.3'), adjust(body, -0.07));
    fillCurve(context, outline('-0.1,0.3 -0.12,0.56 0.16,0.42 0.2,0.3'), adjust(body, -0.07));
    fillCurve(context, outline('-0.66,0 -0.3,-0.32 0.2,-0.4 0.66,-0.22 0.86,0.02 0.66,0.22 0.2,0.38 -0.3,0.3'), body);
    for (const x of [-0.18, 0.28])
      fillCurve(
        context,
        points(x - 0.06, -0.36, x + 0.08, -0.38, x + 0.12, 0, x + 0.06, 0.37, x - 0.08, 0.35, x - 0.02, 0),
        css(band, 0.9),
      );
    fillCurve(context, outline('0.05,0.06 -0.26,0.2 -0.2,0.3 0.08,0.2'), adjust(body, 0.07));
    fillEllipse(context, { x: 0.58, y: -0.06 }, 0.09, 0.1, hex('#ffffff'));
    fillEllipse(context, { x: 0.61, y: -0.06 }, 0.05, 0.06, hex('#16181f'));
  });
};

export const drawJellyfish: DrawThing = (stage, centre, size, look) => {
  const { context } = stage;
  const body = look.colour ?? look.random.pick([hex('#f3a8d8'), hex('#a8c8ff'), hex('#d8b3ff')]);
  at(context, centre, size, 1, () => {
    for (let arm = 0; arm < 9; arm++) {
      const x = (arm - 4) * 0.085;
      const phase = look.random.between(0, 6);
      const line = Array.from({ length: 14 }, (_, step) => ({
        x: x + Math.sin(step * 0.6 + phase) * 0.035 * (1 + step * 0.12),
        y: step * 0.075,
      }));
      strokeLine(context, line, arm % 2 === 0 ? 0.022 : 0.045, body, arm % 2 === 0 ? 0.7 : 0.35);
    }
    const bell = context.createRadialGradient(0, -0.25, 0.05, 0, -0.2, 0.5);
    bell.addColorStop(0, css(adjust(body, 0.12), 0.95));
    bell.addColorStop(1, css(body, 0.55));
    fillCurve(
      context,
      outline(
        '-0.42,0.02 -0.46,-0.2 -0.3,-0.48 0,-0.58 0.3,-0.48 0.46,-0.2 0.42,0.02 0.28,-0.04 0.14,0.04 0,-0.03 -0.14,0.04 -0.28,-0.04',
      ),
      bell,
    );
  });
};

/** A whale that blows, its back and fluke above the water. */
export const drawWhale: DrawThing = (stage, foot, size, look) => {
  const { context, palette } = stage;
  const skin = lit(palette, look.colour ?? hex('#3f5a78'), look.depth);
  const pale = mix(adjust(skin, 0.2, 0.6), palette.rim, 0.15);
  const foam = mix(palette.snow, palette.rim, 0.25);
  at(context, foot, size, look.facing, () => {
    for (let jet = 0; jet < 22; jet++) {
      const share = look.random.next();
      const side = look.random.chance(0.5) ? 1 : -1;
      fillEllipse(
        context,
        {
          x: 0.62 + side * share * 0.24,
          y: -0.62 - Math.sin(share * Math.PI * 0.8) * 0.62 - look.random.between(0, 0.1),
        },
        0.03 + share * 0.04,
        0.03 + share * 0.035,
        css(foam, 0.5),
      );
    }
    fillCurve(
      context,
      outline(
        '-1.2,0.02 -1.25,-0.42 -1.52,-0.74 -1.86,-0.8 -1.5,-0.9 -1.22,-0.74 -1.02,-0.95 -0.7,-0.98 -0.94,-0.78 -1.04,-0.42 -0.98,0.02',
      ),
      skin,
    );
    fillCurve(
      context,
      outline('-0.86,0.06 -0.6,-0.26 0,-0.54 0.62,-0.58 1.08,-0.4 1.28,-0.06 1.22,0.06 0.2,0.08'),
      skin,
    );
    fillCurve(context, outline('0.36,0.06 0.7,-0.1 1.08,-0.14 1.27,-0.06 1.2,0.06'), pale);
    for (let groove = 0; groove < 4; groove++)
      strokeLine(
        context,
        points(0.6 + groove * 0.05, 0.04 - groove * 0.005, 1.2, -0.02 - groove * 0.03),
        0.009,
        adjust(pale, -0.12),
        0.7,
      );
    fillEllipse(context, { x: 0.86, y: -0.2 }, 0.03, 0.032, hex('#14161c'));
    strokeLine(context, outline('-0.5,-0.3 0,-0.5 0.6,-0.54 1,-0.4'), 0.03, mix(skin, palette.rim, 0.5), 0.7);
    for (const x of [-1.1, -0.5, 0.1, 0.7, 1.15]) fillEllipse(context, { x, y: 0.06 }, 0.34, 0.035, css(foam, 0.55));
  });
};

/** A dolphin in mid leap. */
export const drawDolphin: DrawThing = (stage, foot, size, look) => {
  const { context, palette } = stage;
  const skin = lit(palette, look.colour ?? hex('#5d7f9c'), look.depth);
  const foam = mix(palette.snow, palette.rim, 0.25);
  at(context, foot, size, look.facing, () => {
    fillCurve(
      context,
      outline(
        '-0.95,-0.1 -0.86,-0.32 -0.6,-0.6 -0.2,-0.84 0.25,-0.86 0.56,-0.7 0.86,-0.46 0.84,-0.4 0.56,-0.5 0.2,-0.56 -0.2,-0.5 -0.6,-0.3',
      ),
      skin,
    );
    fillCurve(
      context,
      outline('0.62,-0.52 0.3,-0.56 -0.1,-0.5 -0.5,-0.34 -0.16,-0.42 0.28,-0.48'),
      adjust(skin, 0.2, 0.6),
    );
    fillCurve(context, outline('-0.12,-0.82 -0.14,-1.08 -0.3,-1.12 -0.36,-0.72'), adjust(skin, -0.05));
    fillCurve(context, outline('0.2,-0.54 0.1,-0.3 0,-0.26 0.02,-0.5'), adjust(skin, -0.06));
    fillCurve(context, outline('-0.9,-0.16 -1.24,-0.12 -1.28,0.02 -0.98,-0.02 -0.78,0.1 -0.74,0'), adjust(skin, -0.04));
    fillEllipse(context, { x: 0.54, y: -0.62 }, 0.024, 0.026, hex('#14161c'));
    for (let drop = 0; drop < 16; drop++)
      fillEllipse(
        context,
        { x: -1 + look.random.between(-0.4, 0.4), y: look.random.between(-0.26, 0.06) },
        0.03,
        0.03,
        css(foam, 0.7),
      );
    fillEllipse(context, { x: -1, y: 0.05 }, 0.5, 0.04, css(foam, 0.6));
  });
};

/** A swan or a duck on the water. */
export const drawSwan: DrawThing = (stage, foot, size, look) => {
  const { context, palette } = stage;
  const body = lit(palette, look.colour ?? hex('#faf8f2'), look.depth);
  at(context, foot, size, look.facing, () => {
    for (let row = 0; row < 6; row++)
      fillEllipse(
        context,
        { x: look.random.between(-0.1, 0.1), y: 0.05 + row * 0.07 },
        0.5 - row * 0.06,
        0.014,
        css(body, 0.4 - row * 0.055),
      );
    strokeLine(context, outline('0.36,-0.2 0.5,-0.42 0.4,-0.66 0.36,-0.8 0.44,-0.92 0.54,-0.9'), 0.1, body);
    fillCurve(
      context,
      outline('-0.72,-0.4 -0.5,-0.36 -0.1,-0.46 0.3,-0.34 0.5,-0.14 0.3,0.03 -0.3,0.04 -0.56,-0.08'),
      body,
    );
    fillCurve(
      context,
      outline('-0.78,-0.52 -0.4,-0.5 0.1,-0.4 0.2,-0.2 -0.1,-0.12 -0.44,-0.22'),
      mix(body, palette.rim, 0.35),
    );
    fillEllipse(context, { x: 0.53, y: -0.9 }, 0.085, 0.07, body);
    fillShape(context, outline('0.58,-0.93 0.74,-0.85 0.58,-0.85'), lit(palette, hex('#e8842c'), look.depth));
    fillEllipse(context, { x: 0.55, y: -0.915 }, 0.015, 0.015, hex('#16161a'));
  });
};
