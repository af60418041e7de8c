/** Promises of the single edits, on small images: each changes what it is named after, and the rest stays. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { hex } from '../../../src/image/colour.ts';
import { addThings, changeSky, drawLettering } from '../../../src/image/edit/additions.ts';
import { changeBackground, removeBackground, removeSubject } from '../../../src/image/edit/background.ts';
import { transferColours } from '../../../src/image/edit/colour-transfer.ts';
import { applyFocus } from '../../../src/image/edit/focus.ts';
import { fitTo, frame } from '../../../src/image/edit/framing.ts';
import { frameWith } from '../../../src/image/edit/frames.ts';
import { lightWith, relight } from '../../../src/image/edit/light.ts';
import { stageOver } from '../../../src/image/edit/image-stage.ts';
import { simplify } from '../../../src/image/edit/simplification.ts';
import { applyFinish } from '../../../src/image/finish.ts';
import { join } from '../../../src/image/edit/joining.ts';
import { applyTone, recolour } from '../../../src/image/edit/tones.ts';
import { applyAtmosphere, applySeason } from '../../../src/image/edit/weather.ts';
import { Workpiece } from '../../../src/image/edit/workpiece.ts';
import type { Pixels } from '../../../src/image/finish/pixels.ts';
import { createRandom } from '@darkroom/seeded-random/random';
import { detailOf, differenceOf, landscape, meanOf, painted, shareOf } from '../image-samples.ts';

const [WIDE, HIGH] = [240, 180];
const BALL = { left: 0.44, right: 0.56, top: 0.55, bottom: 0.7 };
const SKY = { left: 0.02, right: 0.3, top: 0.05, bottom: 0.4 };
const GROUND = { left: 0.02, right: 0.2, top: 0.7, bottom: 0.95 };

/** The landscape after an edit. */
function after(edit: (work: Workpiece) => void, pixels = landscape(WIDE, HIGH)): Pixels {
  const work = new Workpiece(pixels, createRandom(5));
  edit(work);
  return work.pixels;
}

const BEFORE = landscape(WIDE, HIGH);

describe('analysing an image', () => {
  it('finds its sky and its subject', () => {
    const work = new Workpiece(landscape(WIDE, HIGH), createRandom(1));
    const at = (plane: { values: Float32Array }, x: number, y: number): number =>
      plane.values[Math.floor(y * HIGH) * WIDE + Math.floor(x * WIDE)] ?? -1;
    assert.ok(work.sky.share > 0.3 && work.sky.share < 0.55, `${work.sky.share}`);
    assert.ok(at(work.sky.mask, 0.2, 0.2) > 0.9 && at(work.sky.mask, 0.2, 0.9) < 0.1);
    assert.ok(at(work.subject.mask, 0.5, 0.62) > 0.9 && at(work.subject.mask, 0.08, 0.1) < 0.1);
  });
});

describe('light', () => {
  it('of the night is dark and blue, of the golden hour warm, of noon bright', () => {
    const [day, night, golden, noon] = [
      BEFORE,
      after((work) => relight(work, 'night')),
      after((work) => relight(work, 'golden')),
      after((work) => relight(work, 'noon')),
    ].map((pixels) => meanOf(pixels));
    assert.ok(day && night && golden && noon);
    assert.ok(night.light < day.light * 0.5 && night.blue > night.red, JSON.stringify(night));
    assert.ok(golden.red - golden.blue > day.red - day.blue + 25, JSON.stringify(golden));
    assert.ok(noon.light > day.light, JSON.stringify(noon));
  });

  it('of an hour leaves no halo where the sky meets the land', () => {
    const golden = after((work) => relight(work, 'golden'));
    const strip = (left: number, top: number): number =>
      meanOf(golden, { left, right: left + 0.1, top, bottom: top + 0.06 }).light;
    // Just above the land, the light decreases slowly from one side to the other.
    const [outer, inner] = [strip(0.06, 0.4), strip(0.2, 0.4)];
    assert.ok(Math.abs(outer - inner) < 14, `${outer} ${inner}`);
  });

  it('of the moon is that of the night with a moon in the sky', () => {
    const moonlit = after((work) => relight(work, 'moonlight'));
    assert.ok(shareOf(moonlit, (red, green, blue) => Math.min(red, green, blue) > 190, { bottom: 0.5 }) > 0.002);
    assert.ok(meanOf(moonlit).light < meanOf(BEFORE).light * 0.7);
  });

  it('of neon is magenta on one side and cyan on the other', () => {
    const neon = after((work) => lightWith(work, 'neon'));
    const [left, right] = [meanOf(neon, { right: 0.15 }), meanOf(neon, { left: 0.85 })];
    assert.ok(left.red > right.red && right.green > left.green, JSON.stringify([left, right]));
  });

  it('of every other lamp and hour changes the image', () => {
    for (const hour of ['sunset', 'dawn', 'dusk'] as const)
      assert.ok(
        differenceOf(
          BEFORE,
          after((work) => relight(work, hour)),
        ) > 8,
        hour,
      );
    for (const lamp of ['candle', 'dramatic', 'studio', 'rays'] as const)
      assert.ok(
        differenceOf(
          BEFORE,
          after((work) => lightWith(work, lamp)),
        ) > 4,
        lamp,
      );
  });
});

describe('tones', () => {
  it('have the effect that they are named after', () => {
    const mono = after((work) => applyTone(work, 'mono'));
    assert.equal(
      shareOf(mono, (red, green, blue) => Math.max(red, green, blue) - Math.min(red, green, blue) > 4),
      0,
    );
    const sepia = meanOf(after((work) => applyTone(work, 'sepia')));
    assert.ok(sepia.red > sepia.green && sepia.green > sepia.blue);
    assert.ok(meanOf(after((work) => applyTone(work, 'bright'))).light > meanOf(BEFORE).light + 8);
    assert.ok(meanOf(after((work) => applyTone(work, 'dark'))).light < meanOf(BEFORE).light - 20);
    const negative = meanOf(
      after((work) => applyTone(work, 'negative')),
      BALL,
    );
    assert.ok(negative.blue > 190 && negative.red < 80);
  });

  it('all change the image', () => {
    const tones = [
      'noir',
      'warm',
      'cool',
      'contrast',
      'flat',
      'vivid',
      'muted',
      'pastel',
      'vintage',
      'cinema',
      'enhance',
    ] as const;
    for (const tone of tones)
      assert.ok(
        differenceOf(
          BEFORE,
          after((work) => applyTone(work, tone)),
        ) > 2,
        tone,
      );
  });
});

describe('the pencil style', () => {
  it('has tones as well as outlines', () => {
    const drawn = after((work) => {
      simplify(work.pixels, 'sketch');
      work.draw((canvas) => applyFinish(stageOver(canvas, work, { style: 'sketch', name: 'style' })));
    });
    assert.ok(meanOf(drawn, BALL).light < meanOf(drawn, SKY).light - 50);
    assert.ok(meanOf(drawn, GROUND).light < 215);
  });
});

describe('recolouring', () => {
  it('changes the colour of the subject and nothing else', () => {
    const blue = after((work) => recolour(work, { target: 'ball', colour: hex('#2f6fd0') }));
    const ball = meanOf(blue, BALL);
    assert.ok(ball.blue > ball.red + 50, JSON.stringify(ball));
    assert.ok(differenceOf(BEFORE, blue, SKY) < 2 && differenceOf(BEFORE, blue, GROUND) < 2);
  });

  it('finds the sky, green areas, and areas of the named colour', () => {
    const sky = meanOf(
      after((work) => recolour(work, { target: 'sky', colour: hex('#d1348f') })),
      SKY,
    );
    assert.ok(sky.red > sky.green + 30, JSON.stringify(sky));
    const grass = meanOf(
      after((work) => recolour(work, { target: 'grass', colour: hex('#7b3fa6') })),
      GROUND,
    );
    assert.ok(grass.blue > grass.green + 15, JSON.stringify(grass));
    const named = after((work) =>
      recolour(work, { target: 'red thing', colour: hex('#f6cf3a'), from: hex('#d0342c') }),
    );
    const ball = meanOf(named, BALL);
    assert.ok(ball.green > 110 && ball.blue < 110, JSON.stringify(ball));
    assert.ok(differenceOf(BEFORE, named, SKY) < 2);
  });
});

describe('focus', () => {
  /** Stripes everywhere, the subject with stripes of its own. */
  const striped = (): Pixels =>
    painted(WIDE, HIGH, (x, y) => {
      const stripe = Math.floor(x * 60) % 2 === 0 ? 26 : -26;
      const isBall = Math.hypot((x - 0.5) * (4 / 3), y - 0.55) < 0.22;
      return isBall ? [205 + stripe * 0.8, 60 + stripe, 40] : [100, 140 + stripe, 160];
    });
  const edge = { left: 0.02, right: 0.12, top: 0.1, bottom: 0.9 };
  const middle = { left: 0.45, right: 0.55, top: 0.48, bottom: 0.62 };

  it('blurs the background and not the subject', () => {
    const blurred = after((work) => applyFocus(work, 'background'), striped());
    assert.ok(detailOf(blurred, edge) < detailOf(striped(), edge) / 4);
    assert.ok(detailOf(blurred, middle) > detailOf(striped(), middle) * 0.6);
  });

  it('blurs all, sharpens all, or leaves one band sharp', () => {
    assert.ok(detailOf(after((work) => applyFocus(work, 'whole'), striped())) < detailOf(striped()) / 2);
    assert.ok(detailOf(after((work) => applyFocus(work, 'sharp'), striped())) > detailOf(striped()));
    const tilted = after((work) => applyFocus(work, 'tilt'), striped());
    assert.ok(detailOf(tilted, { bottom: 0.06 }) < detailOf(tilted, middle) / 3);
  });

  it('darkens the corners, adds grain, glow and movement', () => {
    const vignette = after((work) => applyFocus(work, 'vignette'));
    assert.ok(
      meanOf(vignette, { right: 0.1, bottom: 0.1 }).light < meanOf(BEFORE, { right: 0.1, bottom: 0.1 }).light * 0.6,
    );
    for (const focus of ['grain', 'glow', 'soft', 'motion', 'zoom'] as const)
      assert.ok(
        differenceOf(
          BEFORE,
          after((work) => applyFocus(work, focus)),
        ) > 1,
        focus,
      );
  });
});

describe('weather and seasons', () => {
  it('rain greys the image and adds lighter streaks, fog removes contrast, snow whitens it', () => {
    const rain = after((work) => applyAtmosphere(work, 'rain'));
    assert.ok(detailOf(rain, GROUND) > detailOf(BEFORE, GROUND));
    const fog = after((work) => applyAtmosphere(work, 'fog'));
    const contrast = (pixels: Pixels): number => Math.abs(meanOf(pixels, SKY).light - meanOf(pixels, GROUND).light);
    assert.ok(contrast(fog) < contrast(BEFORE) * 0.8);
    const snow = after((work) => applyAtmosphere(work, 'snow'));
    assert.ok(meanOf(snow, GROUND).light > meanOf(BEFORE, GROUND).light + 15 && detailOf(snow, GROUND) > 0.5);
  });

  it('sky phenomena are drawn in the sky and nowhere else', () => {
    for (const air of ['rainbow', 'clouds'] as const) {
      const changed = after((work) => applyAtmosphere(work, air));
      assert.ok(differenceOf(BEFORE, changed, { bottom: 0.45 }) > 0.8, air);
      assert.ok(differenceOf(BEFORE, changed, GROUND) < 0.5, air);
    }
    for (const air of ['stars', 'aurora', 'firework', 'storm'] as const)
      assert.ok(
        differenceOf(
          BEFORE,
          after((work) => applyAtmosphere(work, air)),
        ) > 6,
        air,
      );
    for (const air of ['leaves', 'petals'] as const)
      assert.ok(
        differenceOf(
          BEFORE,
          after((work) => applyAtmosphere(work, air)),
        ) > 0.3,
        air,
      );
  });

  it('autumn reddens green areas, winter covers them with snow', () => {
    const [autumn, winter] = [
      meanOf(
        after((work) => applySeason(work, 'autumn')),
        GROUND,
      ),
      meanOf(
        after((work) => applySeason(work, 'winter')),
        GROUND,
      ),
    ];
    assert.ok(autumn.red > autumn.green, JSON.stringify(autumn));
    assert.ok(winter.light > meanOf(BEFORE, GROUND).light + 40, JSON.stringify(winter));
    for (const season of ['spring', 'summer'] as const)
      assert.ok(
        differenceOf(
          BEFORE,
          after((work) => applySeason(work, season)),
        ) > 2,
        season,
      );
  });
});

describe('additions, replacements and removals', () => {
  it('adds things at suitable positions', () => {
    const balloon = after((work) => addThings(work, 'a red balloon'));
    assert.ok(differenceOf(BEFORE, balloon, { bottom: 0.6 }) > differenceOf(BEFORE, balloon, { top: 0.8 }) + 0.5);
    const moon = after((work) => addThings(work, 'a full moon'));
    assert.ok(differenceOf(BEFORE, moon, { bottom: 0.45 }) > 1);
    assert.ok(differenceOf(BEFORE, moon, GROUND) < 0.5);
  });

  it('replaces the sky and keeps the ground', () => {
    const changed = after((work) => changeSky(work, 'a starry night'));
    assert.ok(meanOf(changed, SKY).light < meanOf(BEFORE, SKY).light * 0.5);
    assert.ok(differenceOf(BEFORE, changed, GROUND) < 1);
  });

  it('replaces the background and keeps the subject', () => {
    const white = after(removeBackground);
    assert.ok(meanOf(white, { right: 0.1 }).light > 225);
    assert.ok(differenceOf(BEFORE, white, BALL) < 6);
    const night = after((work) => changeBackground(work, 'a city at night'));
    assert.ok(meanOf(night, SKY).light < 90);
    assert.ok(meanOf(night, BALL).red > meanOf(night, BALL).blue + 40);
    const pink = meanOf(
      after((work) => changeBackground(work, 'plain pink')),
      { right: 0.1 },
    );
    assert.ok(pink.red > pink.green + 30);
  });

  it('removes the named thing and keeps the rest', () => {
    const image = (): Pixels =>
      painted(WIDE, HIGH, (x, y) => {
        if (Math.hypot((x - 0.25) * (4 / 3), y - 0.2) < 0.1) return [210, 40, 40];
        if (Math.abs(x - 0.7) < 0.12 && Math.abs(y - 0.7) < 0.1) return [240, 240, 235];
        return y < 0.5 ? [130, 180, 225] : [40, 90, 140];
      });
    const two = image();
    const without = after((work) => removeSubject(work, 'red balloon'), image());
    const isRed = (red: number, green: number): boolean => red > green + 60;
    const [left, kept] = [shareOf(without, isRed), differenceOf(two, without, { left: 0.6, top: 0.6 })];
    assert.ok(left < shareOf(two, isRed) / 10, `red: ${left}`);
    assert.ok(kept < 1, `changed: ${kept}`);
  });

  it('removes the subject and fills the gap from its surroundings', () => {
    const without = after(removeSubject);
    assert.ok(shareOf(BEFORE, (red, green) => red > green + 60) > 0.05);
    assert.ok(shareOf(without, (red, green) => red > green + 60) < 0.003);
    assert.ok(differenceOf(BEFORE, without, SKY) < 0.5);
  });

  it('writes text at the requested position, and draws frames', () => {
    const low = after((work) => drawLettering(work, ['MMMM'], 'bottom', ''));
    assert.ok(differenceOf(BEFORE, low, { top: 0.66 }) > 8 && differenceOf(BEFORE, low, { bottom: 0.4 }) < 0.5);
    const framed = after((work) => frameWith(work, 'border'));
    assert.ok(meanOf(framed, { right: 0.02 }).light > 250);
    for (const form of ['polaroid', 'wood', 'film'] as const)
      assert.ok(
        differenceOf(
          BEFORE,
          after((work) => frameWith(work, form)),
        ) > 4,
        form,
      );
  });
});

describe('framing', () => {
  const random = createRandom(3);
  const square = { width: 120, height: 120 };

  it('crops to the requested part', async () => {
    const left = frame(landscape(WIDE, HIGH), [{ kind: 'crop', part: 'left' }], random);
    assert.deepEqual([left.pixels.width, left.pixels.height], [WIDE / 2, HIGH]);
    const close = await fitTo(
      frame(landscape(WIDE, HIGH), [{ kind: 'crop', part: 'subject' }], random),
      square,
      random,
    );
    const isRed = (red: number, green: number): boolean => red > green + 60;
    assert.ok(shareOf(close, isRed) > shareOf(BEFORE, isRed) * 1.8);
  });

  it('rotates and mirrors', () => {
    const image = painted(40, 20, (x, y) => [x * 255, y * 255, 0]);
    const mirrored = frame(image, [{ kind: 'turn', turn: 'mirror' }], random).pixels;
    assert.ok(meanOf(mirrored, { right: 0.3 }).red > 150);
    const turned = frame(image, [{ kind: 'turn', turn: 'right' }], random).pixels;
    assert.deepEqual([turned.width, turned.height], [20, 40]);
    assert.ok(meanOf(turned, { bottom: 0.3 }).red < 100 && meanOf(turned, { right: 0.3 }).green > 150);
  });

  it('extends to another shape: the whole image stays, and its sky and ground continue', async () => {
    const wide = await fitTo(frame(landscape(WIDE, HIGH), [], random), { width: 480, height: 180 }, random);
    assert.deepEqual([wide.width, wide.height], [480, 180]);
    const isRed = (red: number, green: number): boolean => red > green + 60;
    assert.ok(
      Math.abs(shareOf(wide, isRed) * 480 - shareOf(BEFORE, isRed) * 240) < 4,
      'the ball is there once, in its size',
    );
    const [sky, ground] = [meanOf(wide, { right: 0.1, bottom: 0.3 }), meanOf(wide, { right: 0.1, top: 0.8 })];
    assert.ok(sky.blue > sky.red + 50 && ground.green > ground.blue + 30, JSON.stringify([sky, ground]));
  });

  it('crops to another shape when the prompt crops', async () => {
    const framed = frame(landscape(WIDE, HIGH), [{ kind: 'crop', part: 'square' }], random);
    const cut = await fitTo(framed, square, random);
    assert.deepEqual([cut.width, cut.height], [120, 120]);
    assert.ok(shareOf(cut, (red, green) => red > green + 60) > shareOf(BEFORE, (red, green) => red > green + 60) * 1.2);
  });
});

describe('several images', () => {
  const red = painted(60, 60, () => [210, 30, 30]);
  const blue = painted(60, 60, (_x, y) => [30, 40 + y * 20, 210]);
  const size = { width: 200, height: 100 };

  it('are placed side by side, or in a collage on paper', () => {
    const beside = join([red, blue], 'beside', '', size);
    assert.ok(meanOf(beside, { right: 0.45 }).red > 190 && meanOf(beside, { left: 0.55 }).blue > 190);
    const collage = join([red, blue, red, blue, red], 'collage', '', size);
    assert.ok(meanOf(collage, { bottom: 0.01 }).light > 230, 'paper at the border');
    assert.ok(shareOf(collage, (r, _g, b) => r > b + 100) > 0.3 && shareOf(collage, (r, _g, b) => b > r + 100) > 0.2);
  });

  it('blend into each other', () => {
    const blended = meanOf(join([red, blue], 'blend', '', size), { left: 0.4, right: 0.6 });
    assert.ok(blended.red > 60 && blended.blue > 60, JSON.stringify(blended));
  });

  it('pass on their colours', () => {
    const image = landscape(WIDE, HIGH);
    transferColours(
      image,
      painted(50, 50, (x, y) => [230 - x * 90, 140 - y * 60, 40]),
      0.9,
    );
    const [before, now] = [meanOf(BEFORE, SKY), meanOf(image, SKY)];
    assert.ok(before.blue > before.red && now.red > now.blue, JSON.stringify(now));
  });

  it('can put the subject of either one into the other', () => {
    const second = painted(WIDE, HIGH, (_x, y) => [120 + y * 20, 120, 150]);
    const isRed = (r: number, g: number): boolean => r > g + 60;
    const inserted = join([landscape(WIDE, HIGH), second], 'insert', 'put it into the second', {
      width: WIDE,
      height: HIGH,
    });
    assert.ok(shareOf(inserted, isRed) > 0.02);
    assert.ok(differenceOf(inserted, second, { right: 0.08, bottom: 0.2 }) < 3, 'the second is the ground');
    const turned = join([second, landscape(WIDE, HIGH)], 'insert', 'put the second into the first', {
      width: WIDE,
      height: HIGH,
    });
    assert.ok(shareOf(turned, isRed) > 0.02);
  });
});
