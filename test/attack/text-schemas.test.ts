/**
 * Text requests whose content is designed to cost time: schemas that refer to themselves, prompts that are slow to
 * count or to read. Whatever they contain, the event loop keeps running, and what exceeds a limit is rejected with
 * its name.
 */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { checkChatBody, decodeChatRequest } from '../../src/text/chat/decode-request.ts';
import type { JsonSchema, OutputFormat } from '../../src/text/request.ts';
import { checkResponsesBody, decodeResponsesRequest } from '../../src/text/responses/decode-request.ts';
import { InvalidTextRequest, TextFailure } from '../../src/text/text-failure.ts';
import { createTextThreads } from '../../src/text/threads/text-threads.ts';
import type { CountedRequest } from '../../src/text/tokens.ts';
import { ask, callOf, requestOf, says, threads } from '../text/offline/asking.ts';
import { createEmbeddedTextSource } from '../../src/text/offline-source.ts';
import { longestPause, usedMs } from './event-loop.ts';

/** The attacks took 5 s to minutes on an idle machine; one that is busy with other work takes a second for anything. */
const LONGEST_PAUSE_MS = 4_000;

const format = (schema: JsonSchema): OutputFormat => ({ type: 'json_schema', name: 'it', schema, strict: false });

/** A prompt of the characters that the tokenizer is slowest with; no two messages are alike. */
function slowPrompt(messages: number, seed = 12_345): CountedRequest {
  const characters = '漢字仮名交文日本語中国人民';
  let state = seed;
  const text = (): string =>
    Array.from({ length: 16_000 }, () => {
      state = (state * 1_103_515_245 + 12_345) & 0x7f_ff_ff_ff;
      return characters[(state >> 8) % characters.length];
    }).join('');
  return {
    messages: Array.from({ length: messages }, () => says('user', text())),
    tools: [],
    format: { type: 'text' },
  };
}

/** A schema of a few kilobytes that has millions of members when expanded. */
function endlessParts(): JsonSchema {
  const names = Array.from({ length: 800 }, (_, index) => `m${index}`);
  const members = Object.fromEntries(names.map((name) => [name, {}]));
  const part = { $ref: '#/$defs/part' };
  return {
    type: 'object',
    $defs: { part: { type: 'object', properties: members } },
    properties: Object.fromEntries(names.map((name) => [name, { ...part }])),
  };
}

const chat = (more: Readonly<Record<string, unknown>>) => () =>
  decodeChatRequest(checkChatBody({ model: 'm', messages: [{ role: 'user', content: 'x' }], ...more }), {});
const responses = (more: Readonly<Record<string, unknown>>) => () =>
  decodeResponsesRequest(checkResponsesBody({ model: 'm', input: 'x', ...more }), { features: [] }, {
    conversation: [],
    items: new Map(),
  } as never);

function rejects(request: () => unknown, param: string): void {
  const startedAt = usedMs();
  assert.throws(request, (error: unknown) => {
    assert.ok(error instanceof InvalidTextRequest, String(error));
    assert.equal(error.param, param);
    assert.ok(error.message.startsWith(`${param}: `), error.message);
    return true;
  });
  assert.ok(usedMs() - startedAt < LONGEST_PAUSE_MS);
}

before(() => threads.start());

describe('a JSON Schema of a text request', () => {
  it('that repeats itself in allOf is read once, however often it is referenced', async () => {
    for (const times of [2, 8, 64]) {
      const schema = {
        type: 'object',
        properties: { a: { type: 'integer' } },
        allOf: Array.from({ length: times }, () => ({ $ref: '#' })),
      };
      const { pauseMs, value } = await longestPause(() => ask('x', { format: format({ ...schema, required: ['a'] }) }));

      assert.equal(typeof (JSON.parse(value.answer.text) as { a: unknown }).a, 'number');
      assert.ok(pauseMs < LONGEST_PAUSE_MS, `${times}: ${pauseMs} ms`);
    }
  });

  it('whose definitions double at each step is read in a number of steps that grows with its length', async () => {
    const next = (index: number): JsonSchema => ({ $ref: `#/$defs/d${index}` });
    const definitions = Array.from({ length: 40 }, (_, index) => [
      `d${index}`,
      { allOf: [next(index + 1), next(index + 1)], anyOf: [next(index + 1), { allOf: [next(index + 1)] }] },
    ]);
    const schema = { $defs: Object.fromEntries([...definitions, ['d40', { type: 'string' }]]), ...next(0) };
    const tool = { name: 'it', parameters: { type: 'object', properties: { a: schema }, $defs: schema.$defs } };
    const { pauseMs } = await longestPause(async () => {
      await ask('x', { format: format(schema) });
      await ask('x', {
        tools: [{ ...tool, parameters: { ...tool.parameters, required: ['a'] } }],
        toolChoice: 'required',
      });
    });

    assert.ok(pauseMs < LONGEST_PAUSE_MS, `${pauseMs} ms`);
  });

  it('that expands beyond the limit is rejected by name, in both endpoints and in tools', () => {
    const schema = endlessParts();
    const tool = { name: 'f', parameters: schema };
    const small = { name: 'g', parameters: { type: 'object' } };

    rejects(
      chat({ response_format: { type: 'json_schema', json_schema: { name: 'x', schema } } }),
      'response_format.json_schema.schema',
    );
    rejects(
      chat({ tools: [small, tool].map((described) => ({ type: 'function', function: described })) }),
      'tools.1.function.parameters',
    );
    rejects(responses({ text: { format: { type: 'json_schema', name: 'x', schema } } }), 'text.format.schema');
    rejects(
      responses({ tools: [small, tool].map((described) => ({ type: 'function', ...described })) }),
      'tools.1.parameters',
    );
  });

  it('may have exactly as many values as the limit', () => {
    const withValues = (values: number) => ({
      // The schema, the list and its members.
      response_format: { type: 'json_schema', json_schema: { name: 'x', schema: { enum: Array(values - 2).fill(1) } } },
    });

    chat(withValues(50_000))();
    rejects(chat(withValues(50_001)), 'response_format.json_schema.schema');
  });

  it('that is part of the prompt delays no other request', async () => {
    const { pauseMs } = await longestPause(async () => {
      await ask(`Give JSON of this schema: ${JSON.stringify(endlessParts())}`);
      await ask(
        'Give JSON of this schema: {"allOf":[{"$ref":"#"},{"$ref":"#"},{"$ref":"#"},{"$ref":"#"}],"type":"object"}',
      );
      await ask(`Give JSON of this schema: {"${String.raw`\"`.repeat(60_000)}`);
    });

    assert.ok(pauseMs < LONGEST_PAUSE_MS, `${pauseMs} ms`);
  });
});

describe('a prompt', () => {
  it('that takes seconds to count delays no other request', async () => {
    const { pauseMs } = await longestPause(() => threads.countInput('acc_one', [slowPrompt(150)]));

    assert.ok(pauseMs < LONGEST_PAUSE_MS, `${pauseMs} ms`);
  });

  it('with an image of padding alone is read immediately', async () => {
    const url = `data:image/png;base64,${'='.repeat(400_000)}A`;
    const content = [{ type: 'image', url }] as const;
    const { pauseMs } = await longestPause(() => ask([{ role: 'user', content }]));

    assert.ok(pauseMs < LONGEST_PAUSE_MS, `${pauseMs} ms`);
  });
});

describe('the text threads', () => {
  it('end a job that takes too long, and serve the next call from a new thread', async () => {
    const hasty = createTextThreads({ timeoutMs: 1_000 });
    const isTooLate = (error: unknown): boolean =>
      error instanceof TextFailure && error.reason === 'upstream_timeout' && !error.message.includes('漢');
    // Twice at the same moment: both threads are ended.
    await Promise.all(
      ['acc_one', 'acc_two'].map((account) => assert.rejects(hasty.countInput(account, [slowPrompt(250)]), isTooLate)),
    );
    const source = createEmbeddedTextSource(hasty);
    const opened = await source.open(callOf(requestOf('What is 17 * 3?')), new AbortController().signal);

    assert.equal(opened.kind, 'events');
    await hasty.close();
  });

  it('serve another account while one keeps them busy', async () => {
    const ended: string[] = [];
    const busy = [1, 2, 3].map(async (seed) => {
      await threads.countInput('acc_busy', [slowPrompt(40, seed)]);
      ended.push('busy');
    });
    await threads.plan('acc_other', { request: requestOf('What is 17 * 3?'), maxTokens: 100, seeds: ['a'] });
    ended.push('other');
    await Promise.all(busy);

    assert.ok(ended.indexOf('other') <= 1, ended.join(', '));
  });
});
