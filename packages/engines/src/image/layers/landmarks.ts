/**
 * Landmarks: lighthouse, windmill, pyramid, bridge; and a campsite. Each stands on its foot in a square whose side is
 * its height.
 */
import { adjust, css, hex, mix } from '../colour.ts';
import { at, fillBox, fillCurve, fillEllipse, fillShape, glow, outline, points, strokeLine } from '../draw.ts';
import { lit } from '../palette.ts';
import { lightSide } from '../stage.ts';
import type { DrawThing } from '../stage.ts';
import { tonesOf, twoSided } from './building-light.ts';

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
    fillShape(context, outline('-0.09,-0.94 0,-1.04 0.09,-0.94'), adjust(stripe, -0.06));
    if (isLit) glow(context, { x: 0, y: -0.89 }, 0.42, hex('#fff0b8'), 0.95);
    for (const y of [-0.66, -0.36]) fillBox(context, -0.018, y, 0.036, 0.06, mix(palette.land, palette.sky[0], 0.4));
    fillBox(context, -0.03, -0.1, 0.06, 0.11, adjust(stripe, -0.22));
    const cottage = adjust(white, -0.04);
    fillBox(context, -0.42, -0.13, 0.27, 0.16, side === -1 ? cottage : adjust(cottage, -0.12));
    fillShape(
      context,
      outline('-0.45,-0.12 -0.38,-0.22 -0.19,-0.22 -0.13,-0.12'),
      lit(palette, hex('#8b4a3b'), look.depth),
    );
    fillBox(context, -0.34, -0.09, 0.05, 0.05, isLit ? hex('#ffd27a') : mix(palette.sky[1], palette.land, 0.45));
  });
};

export const drawWindmill: DrawThing = (stage, foot, size, look) => {
  const { context, palette } = stage;
  const tones = tonesOf(stage, foot, look, '#e4d8c2', '#6b4634');
  const turn = look.random.between(0.2, 1.3);
  at(context, foot, size, 1, () => {
    twoSided(
      context,
      outline('-0.2,0.02 -0.11,-0.6 0,-0.6 0,0.02'),
      outline('0,0.02 0,-0.6 0.11,-0.6 0.2,0.02'),
      tones,
    );
    fillCurve(context, outline('-0.13,-0.58 -0.13,-0.68 0,-0.78 0.13,-0.68 0.13,-0.58'), tones.roof);
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
      strokeLine(context, outline('0,0 0.45,0'), 0.016, beam);
      context.restore();
    }
    fillEllipse(context, { x: 0, y: -0.64 }, 0.025, 0.025, beam);
  });
};

export const drawPyramid: DrawThing = (stage, foot, size, look) => {
  const { context, palette } = stage;
  const stone = lit(palette, look.colour ?? hex('#d9b277'), look.depth);
  const side = lightSide(stage, foot.x);
  at(context, foot, size, side, () => {
    fillShape(context, outline('-0.85,0.04 0.1,-1 0.95,0.04'), mix(stone, palette.rim, 0.2));
    fillShape(context, outline('-0.85,0.04 0.1,-1 -0.14,0.04'), mix(adjust(stone, -0.16), palette.sky[0], 0.2));
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
    fillShape(context, outline('-0.95,0.02 -0.3,-0.9 0.25,-1 -0.25,0.04'), adjust(inside, -0.12));
    fillShape(context, outline('-0.25,0.04 0.25,-1 0.8,0.04'), inside);
    fillShape(
      context,
      outline('0.12,0.04 0.25,-0.82 0.42,0.04'),
      mix(palette.land, palette.isDark ? hex('#ffcf7a') : palette.sky[0], 0.4),
    );
    strokeLine(context, outline('0.25,-1 0.95,0.05'), 0.012, palette.land, 0.7);
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
