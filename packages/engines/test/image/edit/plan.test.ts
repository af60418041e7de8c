/** Promises of how the words of an edit are understood. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { planEdits } from '../../../src/image/edit/plan.ts';
import { joiningOf } from '../../../src/image/edit/joining.ts';

/** The plan in short: kinds with their distinguishing properties. */
function planned(prompt: string): string[] {
  const { framing, changes } = planEdits(prompt);
  return [...framing, ...changes].map((edit) => {
    switch (edit.kind) {
      case 'light':
        return `light ${edit.hour}`;
      case 'lamp':
        return `lamp ${edit.lamp}`;
      case 'tone':
        return `tone ${edit.tone}`;
      case 'style':
        return `style ${edit.style}`;
      case 'air':
        return `air ${edit.air}`;
      case 'focus':
        return `focus ${edit.focus}`;
      case 'season':
        return `season ${edit.season}`;
      case 'recolour':
        return `recolour ${edit.target}`;
      case 'crop':
        return `crop ${edit.part}`;
      case 'turn':
        return `turn ${edit.turn}`;
      case 'extend':
        return `extend ${edit.sides.join('+')}`;
      case 'frame':
        return `frame ${edit.form}`;
      case 'remove':
        return `remove ${edit.what}`;
      case 'background':
      case 'sky':
      case 'add':
        return `${edit.kind} ${edit.words.trim()}`;
      case 'zoom':
        return `zoom ${edit.factor}`;
    }
  });
}

describe('a prompt of an edit', () => {
  const expected: Readonly<Record<string, readonly string[]>> = {
    'golden hour, and blur the background': ['light golden', 'focus background'],
    'make it night': ['light night'],
    moonlight: ['light moonlight'],
    'make the car red': ['recolour car'],
    'make the red car blue': ['recolour car'],
    'change the car from red to blue': ['recolour car'],
    'make the red car bigger': [],
    'turn the sky purple': ['recolour sky'],
    'change the colour of the dress to green': ['recolour the dress'],
    sepia: ['tone sepia'],
    'black and white, with a little more contrast': ['tone mono', 'tone contrast'],
    'as an oil painting in moonlight': ['style oil', 'light moonlight'],
    'pixel art': ['style pixel'],
    'turn it into a watercolour': ['style watercolour'],
    'pencil sketch': ['style sketch'],
    'pop art': ['style pop'],
    'tilt-shift': ['focus tilt'],
    'warm evening light and fog': ['tone warm', 'light sunset', 'air fog'],
    'heavy snow': ['air snow'],
    'crop to a square': ['crop square'],
    'crop the left half': ['crop left'],
    'zoom in 2x': ['zoom 2'],
    'zoom out': ['extend left+right+top+bottom'],
    'extend to the left': ['extend left'],
    'make it wider': ['extend left+right'],
    'flip it horizontally': ['turn mirror'],
    'rotate 90 degrees to the left': ['turn left'],
    'remove the background': ['remove background'],
    'remove the car': ['remove subject'],
    'put the cup on a beach at sunset': ['background a beach at sunset'],
    'put her in the mountains': ['background the mountains'],
    'replace the sky with a starry night': ['sky a starry night'],
    'add two balloons': ['add two balloons'],
    'as a polaroid': ['frame polaroid'],
    autumn: ['season autumn'],
  };
  for (const [prompt, plan] of Object.entries(expected)) {
    it(`is understood: ${prompt}`, () => {
      assert.deepEqual(planned(prompt), plan);
    });
  }

  it('keeps the order of the edits in the prompt', () => {
    assert.deepEqual(planned('fog, then sepia, then a vignette'), ['air fog', 'tone sepia', 'focus vignette']);
    assert.deepEqual(planned('a vignette, sepia and fog'), ['focus vignette', 'tone sepia', 'air fog']);
  });

  it('ignores negated edits', () => {
    assert.deepEqual(planned('sunset, but without rain'), ['light sunset']);
    assert.deepEqual(planned("don't blur it"), []);
  });

  it('letters quoted text at the position that the prompt names', () => {
    const { lettering, letteringPosition } = planEdits('write "GOOD MORNING" at the bottom');
    assert.deepEqual([lettering, letteringPosition], [['GOOD MORNING'], 'bottom']);
    assert.deepEqual(planEdits('remove the text "SALE"').lettering, []);
  });

  it('never fails, whatever the prompt', () => {
    for (const prompt of [
      '',
      '"',
      'make the '.repeat(400),
      '\u0000\ud800',
      'red '.repeat(900),
      '(((((',
      'put the '.repeat(450),
    ]) {
      assert.ok(planEdits(prompt.slice(0, 4000)));
    }
  });
});

describe('joining several images', () => {
  const expected: Readonly<Record<string, string>> = {
    'a collage on white paper': 'collage',
    'side by side': 'beside',
    'before and after': 'beside',
    'blend them into a double exposure': 'blend',
    'give the first picture the colours of the second': 'colours',
    'in the style of the second image': 'colours',
    'put the cat on the sofa of the second': 'insert',
    'anything else': 'collage',
  };
  for (const [words, joining] of Object.entries(expected)) {
    it(`is understood: ${words}`, () => {
      assert.equal(joiningOf(words), joining);
    });
  }
});
