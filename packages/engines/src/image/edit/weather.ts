/**
 * Weather and seasons over the caller's image: the scenes' own painters paint what falls and drifts; snow cover and
 * withering are changes of colours.
 */
import { adjust, css, fromLab, hex, hueOf, mix, toLab } from '../colour.ts';
import type { Colour } from '../colour.ts';
import { glow } from '../draw.ts';
import { drawFireworks, drawRainbow } from '../layers/celestial.ts';
import { drawClouds } from '../layers/clouds.ts';
import { drawAurora, drawGalaxy, drawStars } from '../layers/sky.ts';
import { drawFog, drawLeaves, drawLightning, drawRain, drawSnowfall } from '../layers/weather.ts';
import type { Season, Weather } from '../lexicon.ts';
import { changeColours } from '../analysis/colour-cube.ts';
import { lightPlane, mapPlane, smoothStep } from '../analysis/planes.ts';
import type { Plane } from '../analysis/planes.ts';
import type { Stage } from '../stage.ts';
import { drawInSky, relight } from './light.ts';
import { stageOver } from './image-stage.ts';
import type { Air } from './plan-rules.ts';
import { contrasted, split } from './tones.ts';
import type { Workpiece } from './workpiece.ts';

/** Paints over the whole image. */
function over(work: Workpiece, name: string, weather: Weather | undefined, paint: (stage: Stage) => void): void {
  work.draw((canvas) => {
    const set = new Set(weather === undefined ? [] : [weather]);
    paint(stageOver(canvas, work, { name, weather: set }));
  });
}

/** Wet, grey light. */
function overcast(work: Workpiece, dark: number): void {
  changeColours(work.pixels, (colour) =>
    contrasted(split(adjust(colour, -dark, 0.62), hex('#26323f'), hex('#b9c6cf'), 0.3), 1.04),
  );
  if (work.sky.share === 0) return;
  drawInSky(work, 'noon', 'cover', (stage) => {
    const grey = { ...stage.palette, sky: [hex('#49545f'), hex('#66727d'), hex('#8b969d'), hex('#b4bcc0')] as const };
    const context = stage.context;
    context.fillStyle = css(hex('#7d8892'), 0.62);
    context.fillRect(0, 0, stage.width, stage.height);
    drawClouds({ ...stage, palette: grey, weather: new Set(['storm']) }, 0, undefined);
  });
}

/** The light of a wet ground: the lower part mirrors the part above it, streaked. */
function wetGround(work: Workpiece): void {
  work.draw((canvas) => {
    const { width, height } = canvas;
    const context = canvas.getContext('2d');
    const line = Math.round(height * Math.max(0.55, Math.min(0.8, work.features.horizon.position + 0.12)));
    const copy = context.getImageData(0, 0, width, height);
    const { data } = copy;
    const random = work.random.fork('wet');
    const shifts = Float32Array.from({ length: height }, () => (random.next() - 0.5) * width * 0.008);
    const lower = context.getImageData(0, line, width, height - line);
    for (let row = 0; row < height - line; row++) {
      const from = Math.max(0, line - row - 1);
      const share = 0.34 * smoothStep(0, 0.12, row / height);
      for (let column = 0; column < width; column++) {
        const shift = Math.max(0, Math.min(width - 1, Math.round(column + (shifts[row] ?? 0))));
        for (let channel = 0; channel < 3; channel++) {
          const position = (row * width + column) * 4 + channel;
          const mirrored = data[(from * width + shift) * 4 + channel] ?? 0;
          lower.data[position] = (lower.data[position] ?? 0) * (1 - share) + mirrored * share;
        }
      }
    }
    context.putImageData(lower, 0, line);
  });
}

/** Gives the image weather, or something in its sky. */
export function applyAtmosphere(work: Workpiece, air: Air): void {
  const hasSky = work.sky.share > 0.06;
  const inSky = (name: string, paint: (stage: Stage) => void): void => {
    if (hasSky) drawInSky(work, 'night', name, paint);
    else over(work, name, undefined, paint);
  };
  switch (air) {
    case 'rain':
      overcast(work, 0.09);
      wetGround(work);
      return over(work, 'rain', 'rain', (stage) => {
        // Streaks on a photograph are lighter than everything behind them.
        const white = hex('#f2f6fa');
        const palette = { ...stage.palette, snow: white, sky: [white, white, white, white] as const };
        for (const name of ['near', 'far', 'fine', 'more', 'most']) {
          drawRain({ ...stage, palette, random: stage.random.fork(name) });
        }
      });
    case 'storm':
      overcast(work, 0.17);
      if (hasSky) drawInSky(work, 'night', 'lightning', (stage) => drawLightning(stage));
      else over(work, 'lightning', 'storm', (stage) => drawLightning(stage));
      return over(work, 'storm', 'storm', drawRain);
    case 'snow':
      changeColours(work.pixels, (colour) => adjust(mix(colour, hex('#dfe8f0'), 0.16), 0.02, 0.75));
      return over(work, 'snow', 'snow', (stage) => {
        for (const name of ['near', 'far', 'fine']) drawSnowfall({ ...stage, random: stage.random.fork(name) });
      });
    case 'fog':
      return fog(work);
    case 'rainbow':
      return inSky('rainbow', (stage) => drawRainbow({ ...stage, light: { ...stage.light, x: stage.light.x } }));
    case 'stars':
      if (work.features.light > 0.36 && !work.isNight) relight(work, 'night');
      return inSky('stars', (stage) => {
        drawGalaxy(stage);
        drawStars(stage, 1.6);
      });
    case 'aurora':
      if (work.features.light > 0.36 && !work.isNight) relight(work, 'night');
      return inSky('aurora', (stage) => {
        drawStars(stage, 1);
        drawAurora(stage);
      });
    case 'firework':
      if (work.features.light > 0.36 && !work.isNight) relight(work, 'night');
      return inSky('firework', (stage) => drawFireworks(stage, 4));
    case 'leaves':
      return over(work, 'leaves', 'wind', (stage) => {
        for (const [index, colour] of [hex('#d9772b'), hex('#b8402a'), hex('#e0a83a')].entries())
          drawLeaves({ ...stage, random: stage.random.fork(`${index}`) }, colour);
      });
    case 'petals':
      return over(work, 'petals', 'wind', (stage) => {
        for (const [index, colour] of [hex('#f6b8cb'), hex('#ffffff'), hex('#f08fb1')].entries())
          drawLeaves({ ...stage, random: stage.random.fork(`${index}`) }, colour);
      });
    case 'clouds':
      return hasSky
        ? drawInSky(work, 'noon', 'clouds', (stage) => drawClouds(stage, 5, undefined))
        : overcast(work, 0.05);
  }
}

/** Denser towards the horizon and away from the subject, with drifting veils. */
function fog(work: Workpiece): void {
  const { width, height, features, subject } = work;
  const haze = mix(features.above[3], hex(features.light < 0.35 ? '#5b6675' : '#e6eaec'), 0.7);
  const line = work.sky.share > 0 ? work.sky.bottom : features.horizon.position;
  const density = mapPlane(lightPlane(work.pixels), (_, index) => {
    const y = Math.floor(index / width) / height;
    const far = 1 - smoothStep(0.02, 0.5, Math.abs(y - line) * (y < line ? 1.2 : 0.85));
    return (
      Math.min(0.92, 0.2 + far * 0.72) * (1 - (subject.clarity > 0.2 ? (subject.mask.values[index] ?? 0) * 0.5 : 0))
    );
  });
  changeColours(work.pixels, (colour) => mix(adjust(colour, 0.02, 0.6), haze, 0.94), density);
  over(work, 'fog', 'fog', (stage) => drawFog({ ...stage, palette: { ...stage.palette, haze } }, 0.75));
}

/** How green each pixel is. */
function greens(work: Workpiece): Plane {
  const centre = hueOf(hex('#6ea24c')).angle;
  const { data } = work.pixels;
  return mapPlane(lightPlane(work.pixels), (_, index) => {
    const { angle, chroma } = hueOf([data[index * 4] ?? 0, data[index * 4 + 1] ?? 0, data[index * 4 + 2] ?? 0]);
    const far = Math.abs(Math.atan2(Math.sin(angle - centre), Math.cos(angle - centre)));
    return (1 - smoothStep(0.55, 0.85, far)) * smoothStep(0.015, 0.045, chroma);
  });
}

/** Snow on surfaces that face up: where a pixel is lighter than the one below it, and on all open ground. */
function layOfSnow(work: Workpiece): Plane {
  const { width, height, sky } = work;
  const light = lightPlane(work.pixels);
  const step = Math.max(1, Math.round(height / 160));
  return mapPlane(light, (value, index) => {
    const below = light.values[index + step * width] ?? value;
    const y = Math.floor(index / width) / height;
    const ledge = smoothStep(0.02, 0.12, value - below);
    const ground =
      smoothStep(work.features.horizon.position - 0.02, work.features.horizon.position + 0.22, y) *
      smoothStep(0.16, 0.5, value);
    const inSky = sky.share > 0 ? (sky.mask.values[index] ?? 0) : 0;
    return (
      Math.min(0.92, ledge * 0.85 + ground * 0.85) *
      (1 - inSky) *
      (1 - (work.subject.clarity > 0.2 ? (work.subject.mask.values[index] ?? 0) * 0.85 : 0))
    );
  });
}

const FOLIAGE: Record<'autumn' | 'spring' | 'summer', (colour: Colour) => Colour> = {
  autumn: (colour) => {
    const [lightness, greenRed, blueYellow] = toLab(colour);
    const chroma = Math.hypot(greenRed, blueYellow) * 1.35 + 0.03;
    // Light leaves turn to gold, dark ones to rust.
    const angle = 0.72 + smoothStep(0.3, 0.75, lightness) * 0.62;
    return fromLab([Math.min(0.95, lightness + 0.05), Math.cos(angle) * chroma, Math.sin(angle) * chroma]);
  },
  spring: (colour) => adjust(mix(colour, [colour[0] * 1.06, colour[1] * 1.22 + 10, colour[2] * 0.82], 0.7), 0.06, 1.15),
  summer: (colour) => adjust(mix(colour, [colour[0] * 0.8, colour[1] * 1.02, colour[2] * 0.7], 0.8), -0.01, 1.35),
};

/** Puts the image into another season. */
export function applySeason(work: Workpiece, season: Season): void {
  if (season === 'winter') {
    const green = greens(work);
    changeColours(work.pixels, (colour) => adjust(mix(colour, hex('#8fa3ad'), 0.4), 0.08, 0.3), green);
    const snow = layOfSnow(work);
    changeColours(work.pixels, (colour) => split(adjust(colour, 0.02, 0.62), hex('#3d5570'), hex('#dfeaf2'), 0.3));
    changeColours(work.pixels, (colour) => mix(adjust(colour, 0.25, 0.2), hex('#f4f8fc'), 0.78), snow);
    return over(work, 'winter', 'snow', (stage) => drawSnowfall(stage));
  }
  changeColours(work.pixels, FOLIAGE[season], greens(work));
  if (season === 'autumn') {
    changeColours(work.pixels, (colour) => split(adjust(colour, 0, 1.04), hex('#4b3242'), hex('#ffd49a'), 0.2));
    return over(work, 'autumn', 'wind', (stage) => drawLeaves(stage, hex('#d5722a')));
  }
  if (season === 'spring') {
    changeColours(work.pixels, (colour) => adjust(mix(colour, hex('#ffeef4'), 0.1), 0.025, 1.06));
    return over(work, 'spring', 'wind', (stage) => drawLeaves(stage, hex('#f6b8cb')));
  }
  changeColours(work.pixels, (colour) =>
    contrasted(split(adjust(colour, 0.03, 1.14), hex('#3a4a5e'), hex('#fff0c4'), 0.16), 1.05),
  );
  over(work, 'summer', undefined, (stage) => {
    stage.context.globalCompositeOperation = 'screen';
    glow(stage.context, { x: stage.width * 0.85, y: 0 }, stage.width * 0.6, hex('#fff0b8'), 0.4);
  });
}
