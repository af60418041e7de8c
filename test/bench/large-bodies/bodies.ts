/** Bodies at the limits of what is parsed (json-scanner.ts), in the most expensive shapes: about 9.8 MB each. */

export interface LargeBody {
  readonly name: string;
  readonly path: string;
  readonly text: string;
}

export const TASK_MODEL = 'bench/open';
export const TEXT_MODEL = 'bench/far';

const BYTES = 9_700_000;
const VALUES = 49_000;
const MEMBERS = 9_800;

/** @param length of each member's name. */
function membersNamed(length: number, name: (index: number) => string): Record<string, unknown> {
  const objects = Array.from({ length: VALUES / MEMBERS }, (_, object) => {
    const names = Array.from({ length: MEMBERS }, (_name, index) => name(object * MEMBERS + index).padEnd(length, 'k'));
    return [`o${object}`, Object.fromEntries(names.map((each) => [each, 1]))];
  });
  return Object.fromEntries(objects) as Record<string, unknown>;
}

function listsOf(value: (index: number) => unknown, length = VALUES / 2 - 10): Record<string, unknown> {
  const list = (first: number): unknown[] => Array.from({ length }, (_, index) => value(first + index));
  return { first: list(0), second: list(length) };
}

/** @param nameBytes the limit on the total bytes of all member names. */
function shapes(nameBytes: number): Readonly<Record<string, () => unknown>> {
  const length = Math.min(180, Math.floor(nameBytes / VALUES));
  return {
    'names of members': () => membersNamed(length, String),
    'names with я': () => membersNamed(length - 2, (index) => `я${index}`),
    'small objects': () =>
      Array.from({ length: VALUES / 2 - 10 }, (_, index) => ({ [`k${index}`.padEnd(length * 2, 'k')]: 1 })),
    texts: () => listsOf((index) => String(index).padEnd(190, 'x')),
    'texts with я': () => listsOf((index) => `я${index}`.padEnd(185, 'x')),
    // Each counts as two values.
    'empty objects': () => listsOf(() => ({}), VALUES / 4 - 10),
  };
}

const texts: Readonly<Record<string, string>> = {
  'one text': 'x'.repeat(BYTES),
  'one text of я': 'я'.repeat(BYTES / 2),
};

const IMAGE = `data:image/png;base64,${'A'.repeat(BYTES)}`;
const chat = (messages: unknown, more: object = {}): unknown => ({ model: TEXT_MODEL, messages, ...more });
const tool = (parameters: unknown): unknown => ({ type: 'function', function: { name: 'f', parameters } });
const question = [{ role: 'user', content: 'x' }];
const call = (input: unknown): unknown => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name: 'estimate', arguments: { model: TASK_MODEL, input } },
});

/**
 * Each path with the bodies that it takes longest over. @param nameBytes the limit on the total bytes of all member
 * names.
 */
export function largeBodies(nameBytes: number): readonly LargeBody[] {
  const data = Object.entries(shapes(nameBytes));
  const made: LargeBody[] = [];
  const add = (path: string, name: string, value: unknown): void => {
    made.push({ path, name, text: JSON.stringify(value) });
  };
  for (const [name, prompt] of Object.entries(texts)) {
    add('/v1/tasks', name, { model: TASK_MODEL, input: { prompt } });
    add('/v1/tasks/estimate', name, { model: TASK_MODEL, input: { prompt } });
    add('/v1/chat/completions', name, chat([{ role: 'user', content: prompt }]));
    add('/v1/responses', name, { model: TEXT_MODEL, input: prompt });
    add('/mcp', name, call({ prompt }));
  }
  for (const [name, make] of data) {
    const value = make();
    add('/v1/tasks', name, { model: TASK_MODEL, input: { prompt: 'x', data: value } });
    add('/v1/tasks/estimate', name, { model: TASK_MODEL, input: { prompt: 'x', data: value } });
    add('/v1/chat/completions', name, chat(question, { tools: [tool({ type: 'object', default: value })] }));
    const response = {
      model: TEXT_MODEL,
      input: 'x',
      tools: [{ type: 'function', name: 'f', parameters: { type: 'object', default: value } }],
    };
    add('/v1/responses', name, response);
    add('/v1/responses', `${name}, streamed`, { ...response, stream: true });
    add('/mcp', name, call({ prompt: 'x', data: value }));
  }
  const image = [{ role: 'user', content: [{ type: 'image_url', image_url: { url: IMAGE } }] }];
  add('/v1/chat/completions', 'an image', chat(image));
  add('/v1/responses', 'an image', {
    model: TEXT_MODEL,
    store: false,
    input: [{ role: 'user', content: [{ type: 'input_image', image_url: IMAGE }] }],
  });
  const messages = Array.from({ length: 10_000 }, () => ({ role: 'user', content: 'x'.repeat(900) }));
  add('/v1/chat/completions', 'messages', chat(messages));
  add('/v1/responses', 'messages', { model: TEXT_MODEL, input: messages });
  return made;
}
