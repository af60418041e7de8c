/**
 * Prompts in scripts that tokenizers disagree on, as a verbose chat template renders them, and tokenizers to count
 * them with.
 */
import fc from 'fast-check';
import { GptEncoding } from 'gpt-tokenizer/GptEncoding';
import type { BoundedRequest } from '../../../src/text/money/input-bound.ts';
import type { FunctionTool, Message, OutputFormat, ToolCall } from '../../../src/text/request.ts';

export type Count = (text: string) => number;

export const ALPHABETS = {
  Thai: 'สวัสดีชาวโลกกินข้าวหรือยัง ',
  Arabic: 'السلام عليكم كيف حالك ﷺﷲ',
  Chinese: '龘靐齉爩鱻麤你好世界今天天气',
  hex: '0123456789abcdef',
  emoji: '😀👩‍👩‍👧‍👦🏴‍☠️🧑🏽‍🚀🇹🇭',
  mixed: 'a "\\\n\t<&>{}[]:,é\u0000\u200d\ud800',
} as const;

export const text = (maxLength = 400) =>
  fc.oneof(
    { weight: 9, arbitrary: randomText(maxLength) },
    // Of 3 bytes in UTF-8, and of 33 where it is normalized.
    fc.nat(maxLength).map((length) => '\ufdfa'.repeat(length)),
  );

const randomText = (maxLength: number) =>
  fc
    .constantFrom(...Object.values(ALPHABETS))
    .chain((alphabet) => fc.array(fc.constantFrom(...alphabet), { maxLength }))
    .map((characters) => characters.join(''));

/**
 * Values that grow when they are parsed and serialized again: numbers with an exponent, and letters that a client
 * escaped.
 */
const callArguments = fc
  .tuple(fc.constantFrom('1e15', '-1E15', '0.5', '"\\ufdfa"', '"\\u0e01\\u0e02"', '[]'), fc.nat(1_000))
  .map(([member, count]) => `[${Array.from({ length: count }, () => member).join(',')}]`);

export const message: fc.Arbitrary<Message> = fc.oneof(
  fc.record({
    role: fc.constantFrom('system' as const, 'developer' as const, 'user' as const),
    content: text().map((said) => [{ type: 'text' as const, text: said }]),
    name: text(12),
  }),
  fc.record({
    role: fc.constant('assistant' as const),
    content: text().map((said) => [{ type: 'text' as const, text: said }]),
    toolCalls: fc.array(
      fc.record({
        id: fc.string({ maxLength: 30 }),
        name: fc.constant('find'),
        arguments: fc.oneof(
          text(80).map((q) => JSON.stringify({ q })),
          callArguments,
        ),
      }),
      { maxLength: 3 },
    ),
    reasoning: text(),
    sealedReasoning: text(200).map((thought) => Buffer.from(thought).toString('base64')),
  }),
  fc.record({
    role: fc.constant('tool' as const),
    toolCallId: fc.string({ maxLength: 30 }),
    content: text().map((said) => [{ type: 'text' as const, text: said }]),
  }),
);

export const tool: fc.Arbitrary<FunctionTool> = fc.record({
  name: fc.constant('find'),
  description: text(80),
  parameters: text(20).map((description) => ({ type: 'object', properties: { q: { type: 'string', description } } })),
});

export const format: fc.Arbitrary<OutputFormat> = fc.oneof(
  fc.constant({ type: 'text' as const }),
  fc.constant({ type: 'json_object' as const }),
  fc.record({
    type: fc.constant('json_schema' as const),
    name: fc.constant('answer'),
    description: text(),
    schema: text(20).map((description) => ({ type: 'object', description })),
    strict: fc.boolean(),
  }),
);

type Dump = (value: unknown, indent?: number) => string;

/** JSON in ASCII only, the default of Python's `json.dumps`, with HTML's characters escaped as Jinja does. */
const dumped: Dump = (value, indent = 0) => {
  const escaped = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return JSON.stringify(value, null, indent).replaceAll(/[<>&'\u007f-\uffff]/g, escaped);
};

/** The same with every letter unescaped (`ensure_ascii=False`), and Python's spaces and numbers. */
const dumpedAsIs: Dump = (value, indent) =>
  JSON.stringify(value, null, indent)
    .replaceAll('1000000000000000', '1000000000000000.0')
    .replaceAll(/(?<=[}\]\de"l]),/g, ', ');

/** As by servers that parse the arguments of calls before a template renders them. */
const parsed = ({ id, name, arguments: text }: ToolCall): unknown => ({
  id,
  name,
  arguments: JSON.parse(text) as unknown,
});

/** Chats as verbose templates render them: system prompt, indented definitions, calls and results as JSON. */
export function allWritten(request: BoundedRequest): readonly string[] {
  return [
    written(request, dumped, (call) => call),
    written(request, dumped, parsed),
    written(request, dumpedAsIs, parsed),
  ];
}

function written(
  { messages, tools, format: asked }: BoundedRequest,
  dump: Dump,
  given: (call: ToolCall) => unknown,
): string {
  const parts = [`<|im_start|>system\nYou are a helpful assistant. Today is 23 November 2026.<|im_end|>\n`];
  if (asked.type === 'json_schema')
    parts.push(`# Answer: ${asked.name}\n${asked.description ?? ''}\n${dump(asked.schema, 4)}\n`);
  for (const defined of tools) parts.push(`# Tools\n${dump({ type: 'function', function: defined }, 4)}\n`);
  for (const one of messages) {
    const said = one.content.map((part) => (part.type === 'text' ? part.text : '')).join('');
    const { role } = one;
    parts.push(`<|im_start|>${role}\n`);
    if (role === 'tool') parts.push(one.toolCallId, dump(said));
    else parts.push(one.name ?? '', said);
    if (role === 'assistant') {
      parts.push(`<think>${one.reasoning ?? ''}${one.sealedReasoning ?? ''}</think>`);
      for (const call of one.toolCalls) parts.push(`<tool_call>${dump(given(call))}</tool_call>`);
    }
    parts.push('<|im_end|>\n');
  }
  return parts.join('');
}

/** Where a Chinese block of Unicode begins. */
const FIRST_IDEOGRAPH = 0x4e00;
/** The square of this number is the 60,000 words that a vocabulary of 200,000 lacks. */
const IDEOGRAPHS = 245;

/**
 * Published vocabularies of 50k, 100k and 200k tokens; the first one cut to 49,152, as in small models; the last one
 * with 60,000 additional Chinese words; and the worst possible one.
 */
export async function loadTokenizers(): Promise<ReadonlyMap<string, Count>> {
  const [r50k, cl100k, o200k, small, large] = await Promise.all([
    import('gpt-tokenizer/encoding/r50k_base'),
    import('gpt-tokenizer/encoding/cl100k_base'),
    import('gpt-tokenizer/encoding/o200k_base'),
    import('gpt-tokenizer/bpeRanks/r50k_base'),
    import('gpt-tokenizer/bpeRanks/o200k_base'),
  ]);
  const ideographs = Array.from({ length: IDEOGRAPHS }, (_, index) => String.fromCodePoint(FIRST_IDEOGRAPH + index));
  const known = new Set<unknown>(large.default);
  const words = ideographs.flatMap((one) => ideographs.map((other) => one + other)).filter((word) => !known.has(word));
  const encodings = {
    '49k': GptEncoding.getEncodingApi('cl100k_base', () => small.default.slice(0, 49_152)),
    '50k': r50k,
    '100k': cl100k,
    '200k': o200k,
    '260k': GptEncoding.getEncodingApi('o200k_base', () => [...large.default, ...words]),
  };
  const counts = new Map<string, Count>([['a token a byte', (said) => Buffer.byteLength(said.normalize('NFKC'))]]);
  for (const [name, { countTokens }] of Object.entries(encodings)) {
    counts.set(name, (said) => countTokens(said, { disallowedSpecial: new Set() }));
  }
  return counts;
}
