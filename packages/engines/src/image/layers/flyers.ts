/**
 * Things that fly: birds, butterflies, balloons, aircraft, kites, lanterns. Positioned by their centre.
 */
import { adjust, css, hex, mix } from '../colour.ts';
import { at, fillBox, fillCurve, fillEllipse, fillShape, glow, outline, points, strokeLine } from '../draw.ts';
import { lit } from '../palette.ts';
import type { DrawThing } from '../stage.ts';

/** A distant gull: two bent wings. */
export const drawBird: DrawThing = (stage, centre, size, look) => {
  const { palette, context } = stage;
  const ink = look.colour === undefined ? mix(palette.land, palette.sky[0], 0.3) : lit(palette, look.colour, 0.15);
  const beat = look.random.between(0.1, 0.5);
  at(context, centre, size, look.facing, () => {
    for (const side of [-1, 1]) {
      context.beginPath();
      context.moveTo(0, 0.02);
      context.quadraticCurveTo(side * 0.26, -beat - 0.12, side * 0.72, -beat * 0.5);
      context.quadraticCurveTo(side * 0.3, -beat + 0.1, 0, 0.12);
      context.fillStyle = css(ink);
      context.fill();
    }
    fillEllipse(context, { x: 0.02, y: 0.06 }, 0.14, 0.055, ink, -0.1);
  });
};

/** A bird of prey with spread wings, fingers at their tips. */
export const drawEagle: DrawThing = (stage, centre, size, look) => {
  const { palette, context } = stage;
  const body = lit(palette, look.colour ?? hex('#4d3626'), 0.1);
  at(context, centre, size, look.facing, () => {
    for (const side of [-1, 1]) {
      fillCurve(
        context,
        points(
          side * 0.05,
          -0.05,
          side * 0.4,
          -0.28,
          side * 0.85,
          -0.22,
          side * 1.05,
          -0.05,
          side * 0.8,
          -0.02,
          side * 0.45,
          0.08,
          side * 0.08,
          0.14,
        ),
        body,
      );
      for (let finger = 0; finger < 4; finger++)
        strokeLine(
          context,
          points(side * 0.8, -0.13, side * (1.14 - finger * 0.03), -0.2 + finger * 0.09),
          0.045,
          adjust(body, -0.05),
        );
    }
    fillCurve(context, outline('0.2,-0.06 0.06,0.16 -0.12,0.4 -0.26,0.34 -0.1,0'), adjust(body, -0.03));
    fillEllipse(context, { x: 0.16, y: -0.06 }, 0.1, 0.08, lit(palette, hex('#f4efe4'), 0.1));
    fillShape(context, outline('0.22,-0.08 0.34,-0.03 0.22,0'), lit(palette, hex('#eab23a'), 0.1));
  });
};

export const drawButterfly: DrawThing = (stage, centre, size, look) => {
  const { palette, context } = stage;
  const wing = lit(palette, look.colour ?? look.random.pick([hex('#f08a24'), hex('#4f7fd9'), hex('#e8557f')]), 0);
  at(context, centre, size, look.facing, () => {
    context.rotate(look.random.between(-0.4, 0.4));
    for (const side of [-1, 1]) {
      fillCurve(context, points(0, 0, side * 0.2, -0.46, side * 0.6, -0.5, side * 0.62, -0.2, side * 0.3, 0.02), wing);
      fillCurve(context, points(0, 0, side * 0.36, 0.02, side * 0.46, 0.26, side * 0.2, 0.42), adjust(wing, -0.06));
      fillEllipse(context, { x: side * 0.45, y: -0.32 }, 0.07, 0.09, adjust(wing, 0.15));
    }
    strokeLine(context, outline('0,-0.26 0,0.28'), 0.06, hex('#2a2228'));
  });
};

/** A hot-air balloon with gores in two colours. */
export const drawBalloon: DrawThing = (stage, centre, size, look) => {
  const { palette, context } = stage;
  const pairs = [
    ['#d9483b', '#f6e3c0'],
    ['#e08a2e', '#f8e7b8'],
    ['#2f7f8c', '#f2dfb6'],
    ['#7a4fa0', '#f3c6d0'],
    ['#34619f', '#f5d27a'],
  ] as const;
  const [first, second] = look.random.pick(pairs);
  const main = lit(palette, look.colour ?? hex(first), look.depth);
  const other = lit(palette, look.colour === undefined ? hex(second) : adjust(look.colour, 0.25, 0.35), look.depth);
  const side = stage.light.x >= centre.x ? 1 : -1;
  at(context, centre, size, 1, () => {
    const half = (y: number): number =>
      y < -0.08
        ? 0.4 * Math.sqrt(Math.max(0, 1 - ((y + 0.12) / 0.4) ** 2))
        : 0.4 * (1 - ((y + 0.08) / 0.4) ** 1.6 * 0.78);
    const edge = (share: number): { x: number; y: number }[] =>
      Array.from({ length: 25 }, (_, step) => {
        const y = -0.52 + (step / 24) * 0.84;
        return { x: half(y) * share, y };
      });
    for (let gore = 0; gore < 8; gore++) {
      const [from, to] = [Math.sin((gore / 8 - 0.5) * Math.PI), Math.sin(((gore + 1) / 8 - 0.5) * Math.PI)];
      fillShape(context, [...edge(from), ...edge(to).toReversed()], gore % 2 === 0 ? main : other);
    }
    if (!stage.isFlat) {
      const shadow = context.createLinearGradient(0.4 * side, 0, -0.4 * side, 0.1);
      shadow.addColorStop(0, css(palette.rim, 0.35));
      shadow.addColorStop(0.35, css(palette.rim, 0));
      shadow.addColorStop(1, css(mix(palette.sky[0], palette.land, 0.5), 0.5));
      fillShape(context, [...edge(-1), ...edge(1).toReversed()], shadow);
    }
    strokeLine(context, outline('-0.08,0.31 -0.055,0.42'), 0.008, palette.land);
    strokeLine(context, outline('0.08,0.31 0.055,0.42'), 0.008, palette.land);
    if (palette.isDark) glow(context, { x: 0, y: 0.3 }, 0.3, hex('#ffb04a'), 0.8);
    fillShape(context, outline('-0.065,0.41 0.065,0.41 0.05,0.5 -0.05,0.5'), lit(palette, hex('#7a5233'), look.depth));
  });
};

export const drawPlane: DrawThing = (stage, centre, size, look) => {
  const { palette, context } = stage;
  const body = lit(palette, look.colour ?? hex('#f2f0ea'), 0.05);
  at(context, centre, size, look.facing, () => {
    context.rotate(-0.14);
    fillShape(context, outline('-0.1,-0.02 -0.42,-0.34 -0.3,-0.34 0.2,-0.04'), adjust(body, -0.12));
    fillCurve(context, outline('-0.95,-0.08 -0.8,-0.14 0.7,-0.15 1,-0.02 0.8,0.08 -0.3,0.1'), body);
    fillShape(
      context,
      outline('-0.95,-0.1 -1.05,-0.42 -0.86,-0.42 -0.66,-0.1'),
      look.colour ?? lit(palette, hex('#d0463a'), 0.05),
    );
    fillShape(context, outline('0.2,0.02 -0.4,0.42 -0.22,0.42 0.44,0.02'), adjust(body, -0.06));
    for (let window = 0; window < 9; window++)
      fillEllipse(
        context,
        { x: -0.45 + window * 0.12, y: -0.05 },
        0.025,
        0.025,
        mix(palette.sky[0], palette.land, 0.4),
      );
  });
};

/** A rocket on its way up, on a column of fire and smoke. */
export const drawRocket: DrawThing = (stage, centre, size, look) => {
  const { palette, context } = stage;
  const body = lit(palette, hex('#f1efe9'), look.depth);
  const red = lit(palette, look.colour ?? hex('#d8402f'), look.depth);
  at(context, centre, size, 1, () => {
    context.rotate(0.2);
    for (let puff = 0; puff < 16; puff++) {
      const y = 0.62 + puff * 0.13;
      fillEllipse(
        context,
        { x: look.random.between(-0.05, 0.05) * (1 + puff * 0.2), y },
        0.1 + puff * 0.022,
        0.1 + puff * 0.02,
        css(mix(hex('#ffffff'), palette.haze, puff / 16), 0.55 * (1 - puff / 17)),
      );
    }
    glow(context, { x: 0, y: 0.66 }, 0.5, hex('#ff9a3c'), 0.9);
    fillCurve(context, outline('-0.1,0.46 -0.11,0.62 0,0.98 0.11,0.62 0.1,0.46'), hex('#ff9b2e'));
    fillCurve(context, outline('-0.05,0.46 -0.06,0.58 0,0.78 0.06,0.58 0.05,0.46'), hex('#fff0b0'));
    fillShape(context, outline('-0.15,0.12 -0.34,0.52 -0.12,0.42'), red);
    fillShape(context, outline('0.15,0.12 0.34,0.52 0.12,0.42'), adjust(red, -0.07));
    fillCurve(context, outline('-0.12,0.48 -0.2,0.1 -0.15,-0.32 0,-0.62 0.15,-0.32 0.2,0.1 0.12,0.48'), body);
    fillCurve(context, outline('0.02,0.48 0.06,0.1 0.06,-0.3 0,-0.6 0.15,-0.32 0.2,0.1 0.12,0.48'), adjust(body, -0.1));
    fillCurve(context, outline('-0.13,-0.3 0,-0.34 0.13,-0.3 0.06,-0.52 0,-0.6 -0.06,-0.52'), red);
    fillEllipse(context, { x: 0, y: -0.1 }, 0.085, 0.085, adjust(body, -0.25));
    fillEllipse(context, { x: 0, y: -0.1 }, 0.06, 0.06, hex('#7fd0e8'));
    fillBox(context, -0.025, 0.18, 0.05, 0.32, red);
  });
};

export const drawUfo: DrawThing = (stage, centre, size, look) => {
  const { palette, context } = stage;
  const body = lit(palette, look.colour ?? hex('#9aa6b5'), look.depth);
  at(context, centre, size, 1, () => {
    const beam = context.createLinearGradient(0, 0.1, 0, 2.2);
    beam.addColorStop(0, css(hex('#c8ffd9'), 0.55));
    beam.addColorStop(1, css(hex('#c8ffd9'), 0));
    fillShape(context, outline('-0.3,0.1 0.3,0.1 0.95,2.2 -0.95,2.2'), beam);
    fillEllipse(context, { x: 0, y: -0.12 }, 0.36, 0.32, css(hex('#bfeaf5'), 0.9));
    fillEllipse(context, { x: 0, y: 0.05 }, 0.95, 0.2, body);
    fillEllipse(context, { x: 0, y: 0 }, 0.9, 0.13, adjust(body, 0.12));
    for (let lamp = -3; lamp <= 3; lamp++)
      fillEllipse(context, { x: lamp * 0.24, y: 0.1 - lamp * lamp * 0.006 }, 0.04, 0.03, hex('#ffe48a'));
  });
};

export const drawKite: DrawThing = (stage, centre, size, look) => {
  const { palette, context } = stage;
  const cloth = lit(palette, look.colour ?? hex('#e0483e'), 0);
  at(context, centre, size, look.facing, () => {
    context.rotate(0.35);
    const tail = outline('0,0.5 0.1,0.72 -0.05,0.95 0.12,1.2 0,1.45');
    strokeLine(context, tail, 0.02, palette.land);
    for (const knot of tail.slice(1))
      fillShape(
        context,
        points(
          knot.x - 0.1,
          knot.y - 0.05,
          knot.x + 0.1,
          knot.y + 0.05,
          knot.x + 0.1,
          knot.y - 0.05,
          knot.x - 0.1,
          knot.y + 0.05,
        ),
        adjust(cloth, 0.12),
      );
    fillShape(context, outline('0,-0.5 0.36,-0.1 0,0.5 -0.36,-0.1'), cloth);
    fillShape(context, outline('0,-0.5 0.36,-0.1 0,-0.1'), adjust(cloth, 0.12));
    fillShape(context, outline('0,0.5 -0.36,-0.1 0,-0.1'), adjust(cloth, -0.1));
  });
};

/** A paper lantern, glowing. */
export const drawLantern: DrawThing = (stage, centre, size, look) => {
  const { context } = stage;
  const paper = look.colour ?? hex('#ff9d3c');
  at(context, centre, size, 1, () => {
    glow(context, { x: 0, y: 0 }, 1.7, paper, 0.6);
    fillCurve(
      context,
      outline('-0.26,0.4 -0.36,-0.1 -0.28,-0.42 0,-0.5 0.28,-0.42 0.36,-0.1 0.26,0.4'),
      adjust(paper, 0.03),
    );
    fillCurve(context, outline('-0.15,0.4 -0.2,0.05 0,-0.2 0.2,0.05 0.15,0.4'), adjust(paper, 0.16));
    fillBox(context, -0.2, 0.36, 0.4, 0.06, adjust(paper, -0.25));
  });
};
