/**
 * Small plants: flowers, mushrooms, grass along the lower edge, reeds; and stones and fences between them.
 */
import { adjust, css, hex, mix } from '../colour.ts';
import type { Colour } from '../colour.ts';
import { at, fillBox, fillCurve, fillEllipse, fillShape, outline, points, strokeLine } from '../draw.ts';
import { lit } from '../palette.ts';
import { isSnowy, lightSide } from '../stage.ts';
import type { DrawThing, Stage, Surface } from '../stage.ts';

const PETALS = ['#e8483e', '#f6c23c', '#f28fb0', '#8a63c9', '#ffffff', '#f2853a'] as const;

/** One flower: a stem, two leaves, and a head seen from the side or the front. */
function drawFlower(
  stage: Stage,
  foot: { x: number; y: number },
  size: number,
  petal: Colour,
  random: { next(): number },
): void {
  const { context, palette } = stage;
  const stem = mix(palette.foliage, palette.grass, 0.4);
  const lean = (random.next() - 0.5) * 0.35;
  const kind = random.next();
  at(context, foot, size, 1, () => {
    strokeLine(context, points(0, 0, lean * 0.3, -0.4, lean, -0.85), 0.05, stem);
    fillCurve(context, outline('0,-0.15 0.2,-0.4 0.26,-0.5 0.08,-0.3'), adjust(stem, 0.05));
    if (kind < 0.4) {
      fillCurve(
        context,
        points(
          lean - 0.17,
          -1.1,
          lean - 0.18,
          -0.85,
          lean,
          -0.74,
          lean + 0.18,
          -0.85,
          lean + 0.17,
          -1.1,
          lean + 0.07,
          -0.96,
          lean,
          -1.14,
          lean - 0.07,
          -0.96,
        ),
        petal,
      );
      fillCurve(
        context,
        points(lean + 0.17, -1.1, lean + 0.18, -0.85, lean + 0.02, -0.76, lean + 0.06, -0.95),
        adjust(petal, -0.07),
      );
    } else {
      const petals = kind < 0.7 ? 5 : 8;
      for (let index = 0; index < petals; index++) {
        const angle = (index / petals) * Math.PI * 2 + lean;
        fillEllipse(
          context,
          { x: lean + Math.cos(angle) * 0.13, y: -0.92 + Math.sin(angle) * 0.11 },
          0.105,
          0.085,
          index % 2 === 0 ? petal : adjust(petal, -0.05),
          angle,
        );
      }
      fillEllipse(context, { x: lean, y: -0.92 }, 0.075, 0.065, lit(palette, hex('#f3b83a'), 0));
    }
  });
}

/** A bed of flowers along a surface, denser and larger the closer it is. */
export function drawFlowerBed(stage: Stage, surface: Surface, colour: Colour | undefined, density: number): void {
  const { width, height, palette } = stage;
  const random = stage.random.fork(`flowers ${surface.depth}`);
  const count = Math.round(95 * density * (width / 1000));
  const bed = Array.from({ length: count }, () => ({
    x: random.between(0, width),
    near: random.next() ** 1.4,
  })).toSorted((first, second) => first.near - second.near);
  const chosen = [random.pick(PETALS), random.pick(PETALS)] as const;
  for (const { x, near } of bed) {
    const top = surface.yAt(x);
    const size = (20 + 44 * near) * surface.scale * random.between(0.8, 1.2);
    const petal = lit(
      palette,
      colour === undefined ? hex(random.pick(chosen)) : adjust(colour, random.between(-0.05, 0.06)),
      surface.depth,
    );
    drawFlower(stage, { x, y: top + 8 + near * (height - top) * 0.85 }, size, petal, random);
  }
}

export const drawMushroom: DrawThing = (stage, foot, size, look) => {
  const { context, palette } = stage;
  const cap = lit(palette, look.colour ?? hex('#cf3a2e'), look.depth);
  const stem = lit(palette, hex('#f1e8d8'), look.depth);
  const side = lightSide(stage, foot.x);
  at(context, foot, size, side, () => {
    fillCurve(context, outline('-0.13,0.02 -0.1,-0.3 -0.12,-0.55 0.12,-0.55 0.11,-0.3 0.16,0.02'), stem);
    fillCurve(context, outline('-0.12,0.02 -0.1,-0.3 -0.1,-0.5 -0.02,-0.5 -0.05,0.02'), adjust(stem, -0.12));
    fillEllipse(context, { x: 0, y: -0.52 }, 0.4, 0.07, adjust(stem, -0.18));
    fillCurve(context, outline('-0.48,-0.5 -0.44,-0.78 -0.2,-1 0.2,-1 0.44,-0.78 0.48,-0.5 0,-0.54'), cap);
    fillCurve(context, outline('0.05,-0.97 0.3,-0.9 0.42,-0.64 0.3,-0.68'), css(mix(cap, palette.rim, 0.5), 0.6));
    for (const [x, y, radius] of [
      [-0.24, -0.68, 0.06],
      [0, -0.8, 0.075],
      [0.24, -0.7, 0.055],
      [-0.05, -0.61, 0.04],
      [-0.15, -0.88, 0.04],
    ] as const) {
      fillEllipse(context, { x, y }, radius, radius * 0.8, css(stem, 0.92));
    }
  });
};

export const drawRock: DrawThing = (stage, foot, size, look) => {
  const { context, palette } = stage;
  const stone = mix(
    look.colour === undefined ? palette.rock : lit(palette, look.colour, look.depth),
    palette.haze,
    look.depth * 0.6,
  );
  const side = lightSide(stage, foot.x);
  const random = look.random;
  at(context, foot, size, side, () => {
    const crown = points(
      -0.75,
      0.04,
      -0.7,
      random.between(-0.4, -0.2),
      -0.35,
      random.between(-0.9, -0.7),
      0.1,
      random.between(-1, -0.85),
      0.5,
      random.between(-0.7, -0.5),
      0.8,
      0.04,
    );
    fillShape(context, crown, adjust(stone, -0.08));
    const [, , third, fourth, fifth, last] = crown;
    if (third === undefined || fourth === undefined || fifth === undefined || last === undefined) return;
    fillShape(context, [third, fourth, fifth, { x: 0.15, y: -0.45 }], mix(stone, palette.rim, 0.35));
    fillShape(context, [fifth, last, { x: 0.22, y: 0.04 }, { x: 0.15, y: -0.45 }], mix(stone, palette.rim, 0.12));
    if (isSnowy(stage))
      fillCurve(context, [third, fourth, fifth, { x: 0.2, y: -0.62 }, { x: -0.15, y: -0.68 }], palette.snow);
  });
};

export const drawFence: DrawThing = (stage, foot, size, look) => {
  const { context, palette, width } = stage;
  const wood = lit(palette, look.colour ?? hex('#8a7560'), look.depth);
  for (const share of [0.82, 0.46]) fillBox(context, -4, foot.y - size * share, width + 8, size * 0.08, wood);
  for (let x = look.random.between(0, 40); x < width; x += size * 1.1) {
    fillBox(context, x, foot.y - size, size * 0.11, size * 1.03, adjust(wood, -0.04));
    if (isSnowy(stage))
      fillEllipse(context, { x: x + size * 0.055, y: foot.y - size }, size * 0.09, size * 0.05, palette.snow);
  }
};

/** Blades of grass or reeds along the lower edge, dark against the light: the nearest layer. */
export function drawEdgeGrass(stage: Stage, colour: Colour, kind: 'grass' | 'reeds'): void {
  const { context, width, height, palette } = stage;
  const random = stage.random.fork(kind);
  const count = Math.round((kind === 'reeds' ? 46 : 190) * (width / 1000));
  for (let index = 0; index < count; index++) {
    const share = random.next();
    const edge = Math.abs(share - 0.5) * 2;
    if (kind === 'reeds' && edge < 0.45) continue;
    const x = share * width;
    const tall = (kind === 'reeds' ? random.between(90, 210) : random.between(22, 62)) * (0.55 + 0.6 * edge);
    const lean = random.between(-0.32, 0.32) + (stage.weather.has('wind') ? 0.4 : 0);
    const tip = { x: x + lean * tall, y: height - tall };
    const half = kind === 'reeds' ? 2 : random.between(1.4, 3);
    context.beginPath();
    context.moveTo(x - half, height + 4);
    context.quadraticCurveTo(x + lean * tall * 0.2, height - tall * 0.6, tip.x, tip.y);
    context.quadraticCurveTo(x + lean * tall * 0.3 + half, height - tall * 0.5, x + half, height + 4);
    context.fillStyle = css(
      random.chance(0.25) ? mix(colour, palette.rim, 0.25) : adjust(colour, random.between(-0.06, 0.02)),
    );
    context.fill();
    if (kind === 'reeds' && random.chance(0.45))
      fillEllipse(
        context,
        { x: tip.x - lean * 8, y: tip.y + 12 },
        3.6,
        15,
        mix(palette.land, hex('#5a3a26'), 0.4),
        lean,
      );
  }
}

/** A tuft on the ground, for the feet of things that stand there. */
export function drawTufts(stage: Stage, position: { x: number; y: number }, spread: number, colour: Colour): void {
  const random = stage.random.fork(`tuft ${Math.round(position.x)} ${Math.round(position.y)}`);
  for (let blade = 0; blade < 15; blade++) {
    const x = position.x + random.between(-1, 1) * spread;
    const tall = random.between(0.1, 0.32) * spread * (1.2 - Math.abs(x - position.x) / spread);
    fillShape(
      stage.context,
      [
        { x: x - 1.3, y: position.y + 2 },
        { x: x + random.between(-0.3, 0.3) * tall, y: position.y - tall },
        { x: x + 1.3, y: position.y + 2 },
      ],
      mix(colour, stage.palette.rim, random.between(0, 0.2)),
    );
  }
}
