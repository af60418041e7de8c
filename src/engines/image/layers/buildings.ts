/**
 * What people have built, single: house, castle, lighthouse, windmill, church, temple, tower, pyramid, tent, bridge.
 * Each stands on its foot in a square whose side is its height, lit from the side of the light; windows shine at night.
 */
import { adjust, css, hex, mix } from '../colour.ts';
import type { Colour } from '../colour.ts';
import { at, fillBox, fillCurve, fillEllipse, fillShape, glow, points, strokeLine } from '../draw.ts';
import { lit } from '../palette.ts';
import { isSnowy, lightSide } from '../stage.ts';
import type { Context, DrawThing, Look, Point, Stage } from '../stage.ts';

/** The tones of one building in the light of its scene. */
interface Tones {
  readonly wall: Colour;
  readonly shade: Colour;
  readonly roof: Colour;
  readonly window: Colour;
  readonly side: 1 | -1;
}

function tonesOf(stage: Stage, foot: Point, look: Look, wall: string, roof: string): Tones {
  const { palette } = stage;
  const paint = lit(palette, look.colour ?? hex(wall), look.depth);
  const isLampLit = palette.isDark || stage.time === 'sunset' || stage.weather.has('storm');
  return {
    wall: mix(paint, palette.rim, 0.12),
    shade: mix(adjust(paint, -0.13), palette.sky[0], 0.12),
    roof: isSnowy(stage) ? mix(palette.snow, palette.haze, look.depth * 0.5) : lit(palette, hex(roof), look.depth),
    window: isLampLit ? hex('#ffd27a') : mix(palette.sky[1], palette.land, 0.45),
    side: lightSide(stage, foot.x),
  };
}

/** A shape and its unlit half in one colour each; the far side from the light is dark. */
function twoSided(context: Context, left: readonly Point[], right: readonly Point[], tones: Tones): void {
  fillShape(context, left, tones.side === -1 ? tones.wall : tones.shade);
  fillShape(context, right, tones.side === 1 ? tones.wall : tones.shade);
}

function smoke(stage: Stage, place: Point, random: Look['random']): void {
  for (let puff = 0; puff < 9; puff++) {
    const share = puff / 9;
    fillEllipse(
      stage.context,
      { x: place.x + share * share * 0.32 + random.between(-0.015, 0.015), y: place.y - share * 0.42 },
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
      points(-0.62, 0.02, -0.62, -0.46, -0.2, -0.46, -0.2, 0.02),
      points(-0.2, 0.02, -0.2, -0.46, 0.14, -0.84, 0.48, -0.46, 0.48, 0.02),
      { ...tones, side: tones.side === 1 ? 1 : -1 },
    );
    fillShape(
      context,
      points(-0.7, -0.43, -0.36, -0.9, 0.16, -0.9, -0.2, -0.43),
      tones.side === -1 ? mix(tones.roof, palette.rim, 0.15) : adjust(tones.roof, -0.07),
    );
    fillShape(context, points(0.14, -0.93, 0.56, -0.42, 0.47, -0.4, 0.14, -0.81), adjust(tones.roof, 0.03));
    fillShape(context, points(0.14, -0.93, -0.26, -0.42, -0.18, -0.4, 0.14, -0.81), adjust(tones.roof, -0.02));
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

export const drawLighthouse: DrawThing = (stage, foot, size, look) => {
  const { context, palette } = stage;
  const stripe = lit(palette, look.colour ?? hex('#cf3b30'), look.depth);
  const white = lit(palette, hex('#f4f1ea'), look.depth);
  const side = lightSide(stage, foot.x);
  const isLit = palette.isDark || stage.time === 'sunset' || stage.time === 'dawn' || stage.weather.size > 0;
  at(context, foot, size, 1, () => {
    const half = (y: number): number => 0.13 + y * 0.062;
    if (isLit)
      for (const beam of [-1, 1]) {
        const gradient = context.createLinearGradient(0, 0, beam * 2.1, 0);
        gradient.addColorStop(0, css(hex('#fff2c4'), 0.6));
        gradient.addColorStop(1, css(hex('#fff2c4'), 0));
        fillShape(context, points(0, -0.895, beam * 2.1, -1.12, beam * 2.1, -0.78), gradient);
      }
    for (let band = 0; band < 5; band++) {
      const [top, bottom] = [-0.8 + band * 0.164, -0.8 + (band + 1) * 0.164];
      const colour = band % 2 === 0 ? stripe : white;
      fillShape(context, points(-half(top), top, half(top), top, half(bottom), bottom, -half(bottom), bottom), colour);
    }
    const shadow = context.createLinearGradient(side * 0.13, 0, -side * 0.13, 0);
    shadow.addColorStop(0, css(palette.rim, 0.3));
    shadow.addColorStop(0.4, css(palette.rim, 0));
    shadow.addColorStop(1, css(mix(palette.sky[0], palette.land, 0.5), 0.6));
    fillShape(context, points(-half(-0.8), -0.8, half(-0.8), -0.8, half(0.02), 0.02, -half(0.02), 0.02), shadow);
    fillBox(context, -0.115, -0.825, 0.23, 0.03, adjust(white, -0.3));
    fillBox(context, -0.062, -0.945, 0.124, 0.12, isLit ? hex('#ffe9a0') : mix(palette.sky[1], white, 0.4));
    for (const x of [-0.062, -0.006, 0.05]) fillBox(context, x, -0.945, 0.012, 0.12, adjust(stripe, -0.2));
    fillShape(context, points(-0.09, -0.94, 0, -1.04, 0.09, -0.94), adjust(stripe, -0.06));
    if (isLit) glow(context, { x: 0, y: -0.89 }, 0.42, hex('#fff0b8'), 0.95);
    for (const y of [-0.66, -0.36]) fillBox(context, -0.018, y, 0.036, 0.06, mix(palette.land, palette.sky[0], 0.4));
    fillBox(context, -0.03, -0.1, 0.06, 0.11, adjust(stripe, -0.22));
    const cottage = adjust(white, -0.04);
    fillBox(context, -0.42, -0.13, 0.27, 0.16, side === -1 ? cottage : adjust(cottage, -0.12));
    fillShape(
      context,
      points(-0.45, -0.12, -0.38, -0.22, -0.19, -0.22, -0.13, -0.12),
      lit(palette, hex('#8b4a3b'), look.depth),
    );
    fillBox(context, -0.34, -0.09, 0.05, 0.05, isLit ? hex('#ffd27a') : mix(palette.sky[1], palette.land, 0.45));
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
      points(-0.5, 0.06, -0.5, -0.24, 0, -0.24, 0, 0.06),
      points(0, 0.06, 0, -0.24, 0.5, -0.24, 0.5, 0.06),
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
      points(-0.075, 0.1, -0.075, -0.1, 0, -0.17, 0.075, -0.1, 0.075, 0.1),
      mix(palette.land, palette.sky[0], 0.3),
    );
  });
};

export const drawWindmill: DrawThing = (stage, foot, size, look) => {
  const { context, palette } = stage;
  const tones = tonesOf(stage, foot, look, '#e4d8c2', '#6b4634');
  const turn = look.random.between(0.2, 1.3);
  at(context, foot, size, 1, () => {
    twoSided(
      context,
      points(-0.2, 0.02, -0.11, -0.6, 0, -0.6, 0, 0.02),
      points(0, 0.02, 0, -0.6, 0.11, -0.6, 0.2, 0.02),
      tones,
    );
    fillCurve(context, points(-0.13, -0.58, -0.13, -0.68, 0, -0.78, 0.13, -0.68, 0.13, -0.58), tones.roof);
    fillBox(context, -0.04, -0.14, 0.08, 0.16, lit(palette, hex('#5d3a2a'), look.depth));
    for (const y of [-0.46, -0.28]) fillBox(context, -0.022, y, 0.044, 0.06, tones.window);
    const beam = lit(palette, hex('#5d4636'), look.depth);
    const cloth = lit(palette, hex('#f6efe0'), look.depth);
    for (let sail = 0; sail < 4; sail++) {
      context.save();
      context.translate(0, -0.64);
      context.rotate(turn + (sail * Math.PI) / 2);
      fillBox(context, 0.06, 0, 0.38, 0.085, css(cloth, 0.9));
      for (let lath = 0; lath < 6; lath++) fillBox(context, 0.06 + lath * 0.072, 0, 0.007, 0.085, beam);
      strokeLine(context, points(0, 0, 0.45, 0), 0.016, beam);
      context.restore();
    }
    fillEllipse(context, { x: 0, y: -0.64 }, 0.025, 0.025, beam);
  });
};

export const drawChurch: DrawThing = (stage, foot, size, look) => {
  const { context, palette } = stage;
  const tones = tonesOf(stage, foot, look, '#efe8da', '#5b5f6b');
  at(context, foot, size, 1, () => {
    twoSided(
      context,
      points(0.02, 0.02, 0.02, -0.32, 0.1, -0.32, 0.1, 0.02),
      points(0.1, 0.02, 0.1, -0.32, 0.56, -0.32, 0.56, 0.02),
      tones,
    );
    fillShape(context, points(0, -0.3, 0.12, -0.52, 0.5, -0.52, 0.6, -0.3), tones.roof);
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
      points(-0.14, 0.02, -0.14, -0.6, 0, -0.6, 0, 0.02),
      points(0, 0.02, 0, -0.6, 0.14, -0.6, 0.14, 0.02),
      tones,
    );
    fillShape(context, points(-0.16, -0.59, 0, -0.95, 0.16, -0.59), tones.roof);
    fillShape(context, points(0, -0.59, 0, -0.95, -tones.side * 0.16, -0.59), css(adjust(tones.roof, -0.1), 0.8));
    strokeLine(context, points(0, -0.94, 0, -1.03), 0.012, tones.shade);
    strokeLine(context, points(-0.028, -1, 0.028, -1), 0.012, tones.shade);
    fillCurve(context, points(-0.035, -0.4, -0.035, -0.48, 0, -0.53, 0.035, -0.48, 0.035, -0.4), tones.window);
    fillCurve(
      context,
      points(-0.045, 0.05, -0.045, -0.12, 0, -0.18, 0.045, -0.12, 0.045, 0.05),
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
    strokeLine(context, points(0, -0.86, 0, -1.03), 0.018, lit(palette, hex('#d8a93f'), look.depth));
  });
};

export const drawTower: DrawThing = (stage, foot, size, look) => {
  const { context } = stage;
  const tones = tonesOf(stage, foot, look, '#c9bba4', '#7a4438');
  at(context, foot, size, 1, () => {
    twoSided(
      context,
      points(-0.13, 0.03, -0.11, -0.74, 0, -0.74, 0, 0.03),
      points(0, 0.03, 0, -0.74, 0.11, -0.74, 0.13, 0.03),
      tones,
    );
    twoSided(
      context,
      points(-0.15, -0.7, -0.15, -0.8, 0, -0.8, 0, -0.7),
      points(0, -0.7, 0, -0.8, 0.15, -0.8, 0.15, -0.7),
      tones,
    );
    fillShape(context, points(-0.17, -0.79, 0, -1.04, 0.17, -0.79), tones.roof);
    for (const y of [-0.62, -0.42, -0.22])
      fillCurve(context, points(-0.025, y + 0.09, -0.025, y, 0, y - 0.03, 0.025, y, 0.025, y + 0.09), tones.window);
  });
};

export const drawPyramid: DrawThing = (stage, foot, size, look) => {
  const { context, palette } = stage;
  const stone = lit(palette, look.colour ?? hex('#d9b277'), look.depth);
  const side = lightSide(stage, foot.x);
  at(context, foot, size, side, () => {
    fillShape(context, points(-0.85, 0.04, 0.1, -1, 0.95, 0.04), mix(stone, palette.rim, 0.2));
    fillShape(context, points(-0.85, 0.04, 0.1, -1, -0.14, 0.04), mix(adjust(stone, -0.16), palette.sky[0], 0.2));
    for (let course = 1; course < 12; course++) {
      const y = -1 + course * 0.086;
      const reach = (course * 0.086) / 1.04;
      strokeLine(context, points(0.1 - reach * 0.24, y, 0.1 + reach * 0.85, y), 0.004, adjust(stone, -0.12), 0.35);
    }
  });
};

export const drawTent: DrawThing = (stage, foot, size, look) => {
  const { context, palette } = stage;
  const cloth = lit(palette, look.colour ?? hex('#e07a35'), look.depth);
  const side = lightSide(stage, foot.x);
  at(context, foot, size, side, () => {
    if (palette.isDark) glow(context, { x: 0.1, y: -0.35 }, 1.2, hex('#ffb95e'), 0.6);
    const inside = palette.isDark ? mix(cloth, hex('#ffd98a'), 0.65) : cloth;
    fillShape(context, points(-0.95, 0.02, -0.3, -0.9, 0.25, -1, -0.25, 0.04), adjust(inside, -0.12));
    fillShape(context, points(-0.25, 0.04, 0.25, -1, 0.8, 0.04), inside);
    fillShape(
      context,
      points(0.12, 0.04, 0.25, -0.82, 0.42, 0.04),
      mix(palette.land, palette.isDark ? hex('#ffcf7a') : palette.sky[0], 0.4),
    );
    strokeLine(context, points(0.25, -1, 0.95, 0.05), 0.012, palette.land, 0.7);
  });
};

export const drawCampfire: DrawThing = (stage, foot, size, look) => {
  const { context, palette } = stage;
  at(context, foot, size, 1, () => {
    context.save();
    context.globalCompositeOperation = 'screen';
    glow(context, { x: 0, y: -0.4 }, 3.4, hex('#ff8a32'), palette.isDark ? 0.65 : 0.3);
    context.restore();
    for (const turn of [-0.35, 0.35]) {
      context.save();
      context.rotate(turn);
      fillBox(context, -0.5, -0.08, 1, 0.13, lit(palette, hex('#5d3d2a'), look.depth));
      context.restore();
    }
    for (const [wide, tall, colour] of [
      [0.36, 1, '#f2622a'],
      [0.25, 0.74, '#ffa53a'],
      [0.13, 0.44, '#fff1b4'],
    ] as const) {
      fillCurve(
        context,
        points(
          -wide,
          -0.05,
          -wide * 0.9,
          -tall * 0.4,
          -wide * 0.2,
          -tall * 0.62,
          0.04,
          -tall * 1.08,
          wide * 0.4,
          -tall * 0.6,
          wide * 0.95,
          -tall * 0.35,
          wide,
          -0.05,
          0,
          0.05,
        ),
        hex(colour),
      );
    }
    for (let spark = 0; spark < 12; spark++)
      fillEllipse(
        context,
        { x: look.random.between(-0.4, 0.4), y: look.random.between(-2, -0.9) },
        0.022,
        0.022,
        hex('#ffc46a'),
      );
  });
};

/** A bridge of stone arches from one bank to the other; its size is the height of the roadway over the water. */
export const drawBridge: DrawThing = (stage, foot, size, look) => {
  const { context, palette, width } = stage;
  const stone = lit(palette, look.colour ?? hex('#a89c8c'), look.depth);
  const top = foot.y - size;
  const span = Math.max(110, size * 2);
  const deck = (x: number): number => top - Math.sin((x / width) * Math.PI) * size * 0.16;
  context.beginPath();
  context.moveTo(-10, foot.y + 8);
  for (let x = -10; x <= width + 10; x += 10) context.lineTo(x, deck(x));
  context.lineTo(width + 10, foot.y + 8);
  for (let pier = Math.ceil(width / span); pier >= 0; pier--) {
    const [right, left] = [pier * span + span * 0.42, pier * span - span * 0.42];
    context.lineTo(right, foot.y + 8);
    context.lineTo(right, top + size * 0.72);
    context.bezierCurveTo(right, top + size * 0.08, left, top + size * 0.08, left, top + size * 0.72);
    context.lineTo(left, foot.y + 8);
  }
  context.closePath();
  const gradient = context.createLinearGradient(0, top - size * 0.2, 0, foot.y);
  gradient.addColorStop(0, css(mix(stone, palette.rim, 0.2)));
  gradient.addColorStop(1, css(adjust(stone, -0.12)));
  context.fillStyle = gradient;
  context.fill();
  strokeLine(
    context,
    Array.from({ length: 60 }, (_, step) => ({ x: (step / 59) * width, y: deck((step / 59) * width) })),
    size * 0.07,
    adjust(stone, 0.04),
  );
};
