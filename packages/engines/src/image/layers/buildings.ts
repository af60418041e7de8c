/**
 * Houses, castles, churches, temples and towers. Each stands on its foot in a square whose side is its height.
 */
import { adjust, css, hex, mix } from '../colour.ts';
import { at, fillBox, fillCurve, fillEllipse, fillShape, glow, outline, points, strokeLine } from '../draw.ts';
import { lit } from '../palette.ts';
import { isSnowy } from '../stage.ts';
import type { DrawThing, Look, Point, Stage } from '../stage.ts';
import { tonesOf, twoSided } from './building-light.ts';

function smoke(stage: Stage, position: Point, random: Look['random']): void {
  for (let puff = 0; puff < 9; puff++) {
    const share = puff / 9;
    fillEllipse(
      stage.context,
      { x: position.x + share * share * 0.32 + random.between(-0.015, 0.015), y: position.y - share * 0.42 },
      0.025 + share * 0.05,
      0.02 + share * 0.035,
      css(mix(hex('#ffffff'), stage.palette.haze, 0.6), 0.42 * (1 - share)),
    );
  }
}

export const drawHouse: DrawThing = (stage, foot, size, look) => {
  const { context, palette } = stage;
  const tones = tonesOf(stage, foot, look, look.random.pick(['#e9dcc3', '#d9b48f', '#c9563f', '#e8e3da']), '#8b4a3b');
  at(context, foot, size, 1, () => {
    if (palette.isDark) glow(context, { x: 0, y: -0.25 }, 0.9, tones.window, 0.3);
    fillBox(context, 0.2, -1.02, 0.11, 0.35, tones.shade);
    if (palette.isDark || isSnowy(stage)) smoke(stage, { x: 0.255, y: -1.06 }, look.random);
    twoSided(
      context,
      outline('-0.62,0.02 -0.62,-0.46 -0.2,-0.46 -0.2,0.02'),
      outline('-0.2,0.02 -0.2,-0.46 0.14,-0.84 0.48,-0.46 0.48,0.02'),
      { ...tones, side: tones.side === 1 ? 1 : -1 },
    );
    fillShape(
      context,
      outline('-0.7,-0.43 -0.36,-0.9 0.16,-0.9 -0.2,-0.43'),
      tones.side === -1 ? mix(tones.roof, palette.rim, 0.15) : adjust(tones.roof, -0.07),
    );
    fillShape(context, outline('0.14,-0.93 0.56,-0.42 0.47,-0.4 0.14,-0.81'), adjust(tones.roof, 0.03));
    fillShape(context, outline('0.14,-0.93 -0.26,-0.42 -0.18,-0.4 0.14,-0.81'), adjust(tones.roof, -0.02));
    const frame = adjust(tones.shade, -0.08);
    for (const [x, y] of [
      [-0.52, -0.34],
      [-0.36, -0.34],
      [-0.06, -0.34],
      [0.26, -0.34],
      [0.09, -0.6],
    ] as const) {
      fillBox(context, x - 0.008, y - 0.008, 0.116, 0.136, frame);
      fillBox(context, x, y, 0.1, 0.12, tones.window);
      fillBox(context, x + 0.046, y, 0.009, 0.12, frame);
      fillBox(context, x, y + 0.055, 0.1, 0.009, frame);
    }
    fillBox(context, 0.09, -0.24, 0.11, 0.26, lit(palette, hex('#6b3a2a'), look.depth));
  });
};

export const drawCastle: DrawThing = (stage, foot, size, look) => {
  const { context, palette } = stage;
  const tones = tonesOf(stage, foot, look, '#b9aea0', '#4a5a86');
  at(context, foot, size, 1, () => {
    if (palette.isDark) glow(context, { x: 0, y: -0.3 }, 0.9, tones.window, 0.22);
    const tower = (x: number, half: number, top: number, hasRoof: boolean): void => {
      twoSided(
        context,
        points(x - half, 0.06, x - half, top, x, top, x, 0.06),
        points(x, 0.06, x, top, x + half, top, x + half, 0.06),
        tones,
      );
      const cap = half * 1.25;
      twoSided(
        context,
        points(x - cap, top + 0.02, x - cap, top - 0.04, x, top - 0.04, x, top + 0.02),
        points(x, top + 0.02, x, top - 0.04, x + cap, top - 0.04, x + cap, top + 0.02),
        tones,
      );
      if (hasRoof) {
        fillShape(
          context,
          points(x - cap * 1.06, top - 0.035, x, top - half * 3.3, x + cap * 1.06, top - 0.035),
          tones.roof,
        );
        fillShape(
          context,
          points(x, top - 0.035, x, top - half * 3.3, x - tones.side * cap * 1.06, top - 0.035),
          css(adjust(tones.roof, -0.1), 0.75),
        );
        strokeLine(context, points(x, top - half * 3.2, x, top - half * 3.2 - 0.07), 0.008, tones.shade);
        fillShape(
          context,
          points(x, top - half * 3.2 - 0.07, x + 0.07, top - half * 3.2 - 0.05, x, top - half * 3.2 - 0.03),
          lit(palette, hex('#d0463a'), look.depth),
        );
      } else
        for (let merlon = -1; merlon <= 1; merlon++)
          fillBox(
            context,
            x + merlon * half * 0.9 - half * 0.2,
            top - 0.07,
            half * 0.42,
            0.04,
            merlon === tones.side ? tones.wall : tones.shade,
          );
      for (const y of [top + 0.08, top + 0.22])
        if (y < -0.08)
          fillCurve(
            context,
            points(x - 0.017, y + 0.06, x - 0.017, y + 0.01, x, y - 0.015, x + 0.017, y + 0.01, x + 0.017, y + 0.06),
            tones.window,
          );
    };
    tower(0.02, 0.105, -0.68, true);
    tower(-0.2, 0.075, -0.5, true);
    tower(0.24, 0.085, -0.44, false);
    twoSided(
      context,
      outline('-0.5,0.06 -0.5,-0.24 0,-0.24 0,0.06'),
      outline('0,0.06 0,-0.24 0.5,-0.24 0.5,0.06'),
      tones,
    );
    for (let merlon = 0; merlon < 12; merlon++)
      fillBox(
        context,
        -0.5 + merlon * 0.0858,
        -0.275,
        0.048,
        0.04,
        (merlon < 6 ? -1 : 1) === tones.side ? tones.wall : tones.shade,
      );
    tower(-0.5, 0.085, -0.4, true);
    tower(0.5, 0.085, -0.36, true);
    fillCurve(
      context,
      outline('-0.075,0.1 -0.075,-0.1 0,-0.17 0.075,-0.1 0.075,0.1'),
      mix(palette.land, palette.sky[0], 0.3),
    );
  });
};

export const drawChurch: DrawThing = (stage, foot, size, look) => {
  const { context, palette } = stage;
  const tones = tonesOf(stage, foot, look, '#efe8da', '#5b5f6b');
  at(context, foot, size, 1, () => {
    twoSided(
      context,
      outline('0.02,0.02 0.02,-0.32 0.1,-0.32 0.1,0.02'),
      outline('0.1,0.02 0.1,-0.32 0.56,-0.32 0.56,0.02'),
      tones,
    );
    fillShape(context, outline('0,-0.3 0.12,-0.52 0.5,-0.52 0.6,-0.3'), tones.roof);
    for (let bay = 0; bay < 3; bay++)
      fillCurve(
        context,
        points(
          0.2 + bay * 0.12,
          -0.06,
          0.2 + bay * 0.12,
          -0.2,
          0.225 + bay * 0.12,
          -0.26,
          0.25 + bay * 0.12,
          -0.2,
          0.25 + bay * 0.12,
          -0.06,
        ),
        tones.window,
      );
    twoSided(
      context,
      outline('-0.14,0.02 -0.14,-0.6 0,-0.6 0,0.02'),
      outline('0,0.02 0,-0.6 0.14,-0.6 0.14,0.02'),
      tones,
    );
    fillShape(context, outline('-0.16,-0.59 0,-0.95 0.16,-0.59'), tones.roof);
    fillShape(context, points(0, -0.59, 0, -0.95, -tones.side * 0.16, -0.59), css(adjust(tones.roof, -0.1), 0.8));
    strokeLine(context, outline('0,-0.94 0,-1.03'), 0.012, tones.shade);
    strokeLine(context, outline('-0.028,-1 0.028,-1'), 0.012, tones.shade);
    fillCurve(context, outline('-0.035,-0.4 -0.035,-0.48 0,-0.53 0.035,-0.48 0.035,-0.4'), tones.window);
    fillCurve(
      context,
      outline('-0.045,0.05 -0.045,-0.12 0,-0.18 0.045,-0.12 0.045,0.05'),
      lit(palette, hex('#5d3a2a'), look.depth),
    );
  });
};

/** A pagoda of four roofs. */
export const drawTemple: DrawThing = (stage, foot, size, look) => {
  const { context, palette } = stage;
  const tones = tonesOf(stage, foot, look, '#c2412f', '#3d4652');
  at(context, foot, size, 1, () => {
    fillBox(context, -0.46, -0.05, 0.92, 0.08, lit(palette, hex('#a59d93'), look.depth));
    for (let storey = 0; storey < 4; storey++) {
      const y = -0.05 - storey * 0.205;
      const half = 0.27 - storey * 0.042;
      twoSided(
        context,
        points(-half, y, -half, y - 0.15, 0, y - 0.15, 0, y),
        points(0, y, 0, y - 0.15, half, y - 0.15, half, y),
        tones,
      );
      for (let bay = -1; bay <= 1; bay++)
        fillBox(context, bay * half * 0.58 - 0.032, y - 0.12, 0.064, 0.09, tones.window);
      const eave = half + 0.18;
      fillCurve(
        context,
        points(
          -eave,
          y - 0.165,
          -eave * 0.6,
          y - 0.15,
          0,
          y - 0.14,
          eave * 0.6,
          y - 0.15,
          eave,
          y - 0.165,
          eave + 0.03,
          y - 0.2,
          half * 0.75,
          y - 0.235,
          0,
          y - 0.25,
          -half * 0.75,
          y - 0.235,
          -eave - 0.03,
          y - 0.2,
        ),
        tones.roof,
      );
      strokeLine(
        context,
        points(-eave * 0.9, y - 0.158, 0, y - 0.147, eave * 0.9, y - 0.158),
        0.011,
        mix(tones.roof, palette.rim, 0.4),
        0.8,
      );
    }
    strokeLine(context, outline('0,-0.86 0,-1.03'), 0.018, lit(palette, hex('#d8a93f'), look.depth));
  });
};

export const drawTower: DrawThing = (stage, foot, size, look) => {
  const { context } = stage;
  const tones = tonesOf(stage, foot, look, '#c9bba4', '#7a4438');
  at(context, foot, size, 1, () => {
    twoSided(
      context,
      outline('-0.13,0.03 -0.11,-0.74 0,-0.74 0,0.03'),
      outline('0,0.03 0,-0.74 0.11,-0.74 0.13,0.03'),
      tones,
    );
    twoSided(
      context,
      outline('-0.15,-0.7 -0.15,-0.8 0,-0.8 0,-0.7'),
      outline('0,-0.7 0,-0.8 0.15,-0.8 0.15,-0.7'),
      tones,
    );
    fillShape(context, outline('-0.17,-0.79 0,-1.04 0.17,-0.79'), tones.roof);
    for (const y of [-0.62, -0.42, -0.22])
      fillCurve(context, points(-0.025, y + 0.09, -0.025, y, 0, y - 0.03, 0.025, y, 0.025, y + 0.09), tones.window);
  });
};
