/**
 * The most tokens that an upstream can report for a request's input, for the hold. The tokenizer of an upstream is
 * mostly unknown, and OpenAI's counts Thai or hexadecimal text far lower than others do. A token of byte-level BPE,
 * and of SentencePiece with byte fallback, is at least one byte of the text, so that bytes are an upper bound for all
 * of them; what a chat template adds is bounded by margins. A model file narrows both (`inputTokens`,
 * docs/guides/text-models.md).
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { TextModelDefinition } from '../../catalogue/text-definition.ts';
import type { Message, TextRequest } from '../request.ts';

/**
 * The default system prompt of a template and its control tokens. The longest published ones, with the date in them,
 * are some 500 tokens.
 */
const PER_REQUEST = 1_024;
/** Control tokens, role and channel of a message; a template without control tokens writes some 30 characters. */
const PER_MESSAGE = 32;
/** What templates write around a definition or a call of a function, in addition to its JSON. */
const PER_TOOL = 192;
/** The instructions for calling functions, written once; published ones are up to 350 tokens. */
const TOOLS_PREAMBLE = 1_024;
/** The largest image of the model that counts them highest: 2,833 tokens, and 5,667 for each of eight tiles. */
const PER_IMAGE = 49_152;
/** Separators between the parts of one message. */
const PER_PART = 4;

/** The number of characters after which other work gets its turn: some milliseconds of work. */
const TURN_CHARACTERS = 64 * 1024;
/**
 * The number of bytes added for each cut of a long text into pieces: a cut can hide the growth of one number or one run
 * of escapes.
 */
const PER_CUT = 40;

/** The parts of a request that are bounded. */
export type BoundedRequest = Pick<TextRequest, 'messages' | 'tools' | 'format'>;
export type BoundingModel = Pick<TextModelDefinition, 'upstreams' | 'inputTokens' | 'extraParameters'>;

/**
 * The upper bound in tokens. The offline text model counts as we do, so for it the bound is the count.
 *
 * @param countedTokens the result of `countInputTokens` for the same request.
 * @param body as it was sent: parameters beyond OpenAI's can reach the prompt.
 */
export async function boundInputTokens(
  request: BoundedRequest,
  body: Readonly<Record<string, unknown>>,
  model: BoundingModel,
  countedTokens: number,
): Promise<number> {
  if (model.upstreams.every(({ protocol }) => protocol === 'embedded')) return countedTokens;
  const { tokenizer, tokensPerByte = 1 } = model.inputTokens ?? {};
  const margin = marginOf(request, model);
  const extra = await bytesOfAll(extraTexts(body, model));
  if (tokenizer !== undefined) return countedTokens + margin + extra + (await bytesOfAll(uncountedTexts(request)));
  const bytes = (await bytesOfAll(textsOf(request))) + extra;
  return Math.ceil(bytes * tokensPerByte) + margin;
}

/** What does not depend on the length of any text. */
function marginOf({ messages, tools, format }: BoundedRequest, model: BoundingModel): number {
  const { perRequest = PER_REQUEST, perTool = PER_TOOL } = model.inputTokens ?? {};
  let margin = perRequest + (tools.length > 0 ? TOOLS_PREAMBLE : 0) + tools.length * perTool;
  if (format.type !== 'text') margin += perTool;
  return margin + marginOfMessages(messages, model);
}

function marginOfMessages(messages: readonly Message[], { inputTokens = {} }: BoundingModel): number {
  const { perMessage = PER_MESSAGE, perTool = PER_TOOL, perImage = PER_IMAGE } = inputTokens;
  let margin = 0;
  for (const message of messages) {
    // Some templates write a turn with reasoning as two.
    margin += message.role === 'assistant' ? 2 * perMessage : perMessage;
    if (message.role === 'assistant') margin += message.toolCalls.length * perTool;
    for (const { type } of message.content) margin += PER_PART + (type === 'image' ? perImage : 0);
  }
  return margin;
}

/** The upper bound of what some messages add to a conversation that was counted without them. */
export async function boundAddedTokens(messages: readonly Message[], model: BoundingModel): Promise<number> {
  const { tokensPerByte = 1 } = model.inputTokens ?? {};
  const bytes = await bytesOfAll(textsOfMessages(messages));
  return Math.ceil(bytes * tokensPerByte) + marginOfMessages(messages, model);
}

/** The maximum number of bytes of a text, in one of the forms in which templates write texts. */
type Measure = (text: string) => number;

interface WrittenText {
  readonly text: string;
  /** Default: unchanged. */
  readonly measure?: Measure;
}

function* textsOf({ messages, tools, format }: BoundedRequest): Generator<WrittenText> {
  yield* textsOfMessages(messages);
  // Some templates indent definitions by four.
  for (const tool of tools) yield { text: JSON.stringify(tool, null, 4), measure: escapedBytes };
  if (format.type === 'json_schema') {
    yield { text: JSON.stringify(format.schema, null, 4), measure: escapedBytes };
    yield { text: `${format.name}${format.description ?? ''}` };
  }
}

function* textsOfMessages(messages: readonly Message[]): Generator<WrittenText> {
  for (const message of messages) yield* textsOfMessage(message);
}

function* textsOfMessage(message: Message): Generator<WrittenText> {
  const isTool = message.role === 'tool';
  for (const part of message.content) {
    if (part.type === 'image') continue;
    const text = part.type === 'text' ? part.text : part.refusal;
    // Some templates write results of functions as a JSON string.
    yield isTool ? { text, measure: escapedBytes } : { text };
  }
  if (isTool) {
    yield { text: message.toolCallId };
    return;
  }
  if (message.name !== undefined) yield { text: message.name };
  if (message.role !== 'assistant') return;
  if (message.reasoning !== undefined) yield { text: message.reasoning };
  if (message.sealedReasoning !== undefined) yield { text: message.sealedReasoning };
  for (const call of message.toolCalls) {
    yield { text: `${call.id}${call.name}`, measure: escapedBytes };
    yield { text: call.arguments, measure: rewrittenBytes };
  }
}

/** What is not counted even with the tokenizer that a model file names, because `countInputTokens` cannot count it. */
function* uncountedTexts({ messages }: BoundedRequest): Generator<WrittenText> {
  for (const message of messages) {
    if (message.role === 'tool') yield { text: message.toolCallId };
    if (message.role !== 'assistant') continue;
    if (message.sealedReasoning !== undefined) yield { text: message.sealedReasoning };
    for (const { id, arguments: text } of message.toolCalls) {
      yield { text: id };
      yield { text, measure: growthOf };
    }
  }
}

/**
 * Parameters that an operator passes through or always sends may be written into the prompt, such as template
 * arguments.
 */
function* extraTexts(
  body: Readonly<Record<string, unknown>>,
  { extraParameters = [], upstreams }: BoundingModel,
): Generator<WrittenText> {
  for (const name of extraParameters) {
    if (body[name] !== undefined) yield { text: JSON.stringify(body[name]), measure: escapedBytes };
  }
  for (const { parameters } of upstreams) {
    if (parameters !== undefined) yield { text: JSON.stringify(parameters), measure: escapedBytes };
  }
}

async function bytesOfAll(texts: Iterable<WrittenText>): Promise<number> {
  let bytes = 0;
  let sinceTurn = 0;
  for (const { text, measure = plainBytes } of texts) {
    for (let at = 0; at < text.length; at += TURN_CHARACTERS) {
      const piece = text.slice(at, at + TURN_CHARACTERS);
      bytes += measure(piece) + (piece.length < text.length ? PER_CUT : 0);
      sinceTurn += piece.length;
      if (sinceTurn < TURN_CHARACTERS) continue;
      sinceTurn = 0;
      await nextTurn();
    }
  }
  return bytes;
}

/**
 * The largest size of a text in UTF-8. Some SentencePiece models normalize first (NFKC), which turns the 3 bytes of
 * U+FDFA into 33.
 */
function plainBytes(text: string): number {
  const bytes = Buffer.byteLength(text);
  return bytes === text.length ? bytes : Math.max(bytes, Buffer.byteLength(text.normalize('NFKC')));
}

/**
 * As a JSON string, with HTML's characters escaped and a blank after each separator; characters beyond ASCII are
 * escaped, or unchanged and normalized by the tokenizer.
 */
function escapedBytes(text: string): number {
  let bytes = 0;
  for (let at = 0; at < text.length; at += 1) bytes += ESCAPED_BYTES[text.charCodeAt(at)] ?? ESCAPE_BYTES;
  for (const [run] of text.matchAll(BEYOND_ASCII)) bytes += Math.max(0, plainBytes(run) - run.length * ESCAPE_BYTES);
  return bytes;
}

/** The largest size of JSON that a server has parsed and a template writes again. */
function rewrittenBytes(text: string): number {
  return escapedBytes(text) + growthOf(text);
}

/**
 * How many bytes longer JSON can become when it is parsed and written again: `1e15` is `1000000000000000.0` in Python.
 */
function growthOf(text: string): number {
  let bytes = 0;
  for (const _ of text.matchAll(EXPONENT)) bytes += NUMBER_BYTES;
  for (const [run] of text.matchAll(ESCAPES)) {
    bytes += Math.max(0, escapedBytes(JSON.parse(`"${run}"`) as string) - run.length);
  }
  return bytes;
}

const EXPONENT = /\d[eE][+-]?\d/g;
/** The longest number that any library writes without an exponent, `100000000000000000000`, with `.0`. */
const NUMBER_BYTES = 23;
const ESCAPES = /(?:\\u[0-9a-fA-F]{4})+/g;
const BEYOND_ASCII = /[^\0-\x7f]+/g;

/** `\u0e01`; a surrogate pair is two of them. */
const ESCAPE_BYTES = 6;
const ESCAPED_BYTES: readonly number[] = Array.from({ length: 128 }, (_, code) => {
  const character = String.fromCharCode(code);
  if ('"\\\n\r\t,:'.includes(character)) return 2;
  if (code < 0x20 || code === 0x7f || "<>&'".includes(character)) return ESCAPE_BYTES;
  return 1;
});
