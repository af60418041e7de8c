/** Calls of the built-in tool `image_generation`: their events, sent again from the stored item, and what models are given. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { ImageStep, TextEvent } from '../../../src/text/source.ts';
import { DeltaRecorder, cutsToStore, replayFrames } from '../../../src/text/responses/replay.ts';
import {
  LONGEST_OUTPUT,
  decodeImageCall,
  imageOutputText,
  withoutImageCalls,
} from '../../../src/text/responses/image-calls.ts';
import type { ImageCallItem, ModelItem, UnnamedInputItem } from '../../../src/text/responses/items.ts';
import { PROBLEM, answerOf, finish, reasoning, text, typesOf } from './answers.ts';

const DONE: ImageCallItem = {
  type: 'image_generation_call',
  status: 'completed',
  result: 'iVBORw0KGgo=',
  task_id: 'tk-svc-1',
  revised_prompt: 'a fox',
  size: '1024x1024',
  output_format: 'png',
};
const FAILED: ImageCallItem = {
  type: 'image_generation_call',
  status: 'failed',
  result: null,
  error: { code: 'invalid_prompt', message: 'no prompt' },
};
const step = (of: ImageStep): TextEvent => ({ type: 'image', choice: 0, step: of });
const image = (item: ImageCallItem): readonly TextEvent[] => [
  step({ type: 'begun' }),
  ...(item.task_id === undefined ? [] : [step({ type: 'generating', taskId: item.task_id })]),
  step({ type: 'done', item }),
];

describe('the events of an image', () => {
  it('come between the items of two turns, and never inside one', () => {
    const { events, answer } = answerOf([text('Here'), text(':'), ...image(DONE), text('Done.'), finish('stop')]);
    assert.deepEqual(
      answer.output.map(({ type, id }) => [type, id.replace(/_.*_/, '_')]),
      [
        ['message', 'msg_0'],
        ['image_generation_call', 'ig_1'],
        ['message', 'msg_2'],
      ],
    );
    const types = typesOf(events);
    const from = types.indexOf('image_generation_call.in_progress') - 2;
    assert.deepEqual(types.slice(from, from + 7), [
      'output_item.done',
      'output_item.added',
      'image_generation_call.in_progress',
      'image_generation_call.generating',
      'image_generation_call.completed',
      'output_item.done',
      'output_item.added',
    ]);
  });

  it('are the same when the stored response is streamed again, whatever the answer', () => {
    const turn = fc.oneof(
      fc.string({ minLength: 1 }).map((words) => [text(words)]),
      fc.string({ minLength: 1 }).map((words) => [reasoning(words)]),
      fc.constantFrom([...image(DONE)], [...image(FAILED)], [...image({ ...FAILED, task_id: 'tk-svc-2' })]),
    );
    fc.assert(
      fc.property(fc.array(turn, { maxLength: 8 }), (turns) => {
        const deltas = new DeltaRecorder();
        const { frames, answer } = answerOf([...turns.flat(), finish('stop')], {}, { deltas });
        const cuts = cutsToStore(answer, deltas);
        assert.ok(cuts !== undefined);
        assert.deepEqual([...replayFrames(answer, cuts)], frames);
      }),
    );
  });

  it('leave an image that was being generated open when the response fails', () => {
    const steps = [step({ type: 'begun' }), step({ type: 'generating', taskId: 'tk-svc-1' })];
    const { events, answer } = answerOf(steps, {}, { problem: PROBLEM });
    assert.equal(typesOf(events).includes('output_item.done'), false);
    const [{ id: _, ...item } = assert.fail()] = answer.output;
    assert.deepEqual(item, {
      type: 'image_generation_call',
      status: 'generating',
      result: null,
      task_id: 'tk-svc-1',
    });
  });
});

describe('what a model is given of an image', () => {
  const form = { functionName: 'image_generation', takesImages: true };
  const weather = {
    type: 'function_call',
    status: 'completed',
    call_id: 'w',
    name: 'weather',
    arguments: '{}',
  } as const;
  const output = { type: 'function_call_output', status: 'completed', call_id: 'w', output: 'Rain.' } as const;
  const said = (role: 'user'): UnnamedInputItem => ({
    type: 'message',
    role,
    status: 'completed',
    content: [{ type: 'input_text', text: 'Thanks.' }],
  });
  const kinds = (items: readonly ModelItem[]): readonly string[] =>
    items.map((item) => {
      if (item.type === 'message') return item.role;
      return 'call_id' in item ? `${item.type} ${item.call_id}` : item.type;
    });

  it('is a call with its output, and the image before the next message of the user', () => {
    assert.deepEqual(kinds(withoutImageCalls([said('user'), DONE, said('user')], form)), [
      'user',
      'function_call call_image_1',
      'function_call_output call_image_1',
      'user',
      'user',
    ]);
  });

  it('is never between a call and its output', () => {
    assert.deepEqual(kinds(withoutImageCalls([said('user'), weather, DONE, DONE, output], form)), [
      'user',
      'function_call w',
      'function_call call_image_2',
      'function_call_output call_image_2',
      'function_call call_image_3',
      'function_call_output call_image_3',
      'function_call_output w',
      'user',
      'user',
    ]);
  });

  it('is no image where it takes none, or there is none', () => {
    const expected = ['function_call call_image_0', 'function_call_output call_image_0'];
    assert.deepEqual(kinds(withoutImageCalls([DONE], { ...form, takesImages: false })), expected);
    assert.deepEqual(kinds(withoutImageCalls([{ ...DONE, result: null }], form)), expected);
    assert.deepEqual(kinds(withoutImageCalls([FAILED], form)), expected);
  });

  it('names the type of the image', () => {
    for (const [result, type] of [
      ['iVBORw0KGgo=', 'png'],
      ['/9j/4AAQ', 'jpeg'],
      ['UklGRgAA', 'webp'],
    ] as const) {
      const items = withoutImageCalls([{ ...DONE, result }], form);
      assert.match(JSON.stringify(items), new RegExp(`data:image/${type};base64,`));
    }
  });

  it('has its image in one spelling when a client sends it back', () => {
    for (const result of ['iVBORw0KGgo=', 'iVBORw0KGgo', 'iVBORw0K\nGgo%3D']) {
      assert.equal(decodeImageCall({ result }, 'input.0').result, 'iVBORw0KGgo=', result);
    }
    assert.equal(decodeImageCall({ result: 'iVBORw0KGgo-_w' }, 'input.0').result, 'iVBORw0KGgo+/w==');
    for (const result of ['', 'iVBORw0KGgo!', 'iVBORw0KŁŁŁŁ']) {
      assert.throws(() => decodeImageCall({ result }, 'input.0'), /input\.0\.result: want an image in base64/, result);
    }
  });

  it('is an output that is never longer than the one that is held for', () => {
    const long = { code: 'x', message: 'x'.repeat(10_000) };
    assert.equal(imageOutputText({ ...FAILED, error: long }).length, LONGEST_OUTPUT.length);
    assert.ok(imageOutputText(DONE).length < LONGEST_OUTPUT.length);
  });
});
