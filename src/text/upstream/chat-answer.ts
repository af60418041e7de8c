/**
 * A chat completion on its way from an upstream to a client of the same interface, streamed or whole. Each chunk of a
 * stream is read once, for what is billed and for how it ends; its choices are then copied as they were written, after
 * a head of our own. So nothing else of an upstream reaches a client: no name of a model, a provider or a server, and
 * no price.
 *
 * What would break clients is encoded again: calls without index or id, ends that OpenAI has no name for, and reasoning
 * in `reasoning`, which is in `reasoning_content` here, whichever upstream answers.
 */
import { formatEncodedEvent } from '../../domain/server-sent-event.ts';
import { wireUsage } from '../chat/encode-answer.ts';
import { frameOf } from '../encoder.ts';
import type { TextCall } from '../source.ts';
import { ChatStream, ToolCalls } from './chat-stream.ts';
import type { CallPiece, Chunk } from './chat-stream.ts';
import { findMember, templateOf } from './chunk-template.ts';
import type { ChunkTemplate, Span } from './chunk-template.ts';
import type { StreamReader } from './event-stream.ts';
import { readChatPiece } from './read-answer.ts';
import type { ChoicePart, Members } from './read-answer.ts';
import { brokenOff, invalidAnswer } from './upstream-failure.ts';

/** A stream may change its form now and then; one that changes with every chunk is read chunk by chunk. */
const MAX_MISSES = 8;

export class ChatFrames implements StreamReader<string> {
  readonly #call: TextCall;
  readonly #stream: ChatStream;
  readonly #includesUsage: boolean;
  readonly #meta: Members;
  readonly #head: string;
  readonly #tail: string;
  #template: ChunkTemplate | undefined;
  /** How often a chunk was remembered since that last helped. */
  #misses = 0;
  #isOver = false;

  constructor(call: TextCall) {
    const options = call.body['stream_options'] as { readonly include_usage?: unknown } | null | undefined;
    this.#call = call;
    this.#stream = new ChatStream(call.request.choices);
    this.#includesUsage = options?.include_usage === true;
    this.#meta = {
      id: call.id,
      object: 'chat.completion.chunk',
      created: call.createdAt,
      model: call.model.name,
    };
    this.#head = `${JSON.stringify(this.#meta).slice(0, -1)},"choices":`;
    this.#tail = this.#includesUsage ? ',"usage":null}' : '}';
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  read(name: string | undefined, data: string, emit: (frame: string) => void): void {
    if (this.#isOver) return;
    const like = name === undefined ? this.#template?.match(data) : undefined;
    if (like !== undefined) {
      this.#misses = 0;
      if (like.field === 'content') this.#call.tally.addOutput(like.text);
      else this.#call.tally.addReasoning(like.text);
      return emit(like.frame);
    }
    const chunk = this.#stream.read(name, data);
    if (chunk === 'done') return this.#finish(emit);
    if (chunk === undefined) return;
    if (chunk.usage !== undefined) this.#call.tally.report(chunk.usage);
    if (chunk.parts.length > 0) emit(this.#frame(chunk, data));
  }

  end(emit: (frame: string) => void): void {
    if (this.#isOver) return;
    if (!this.#stream.isComplete) throw brokenOff('a stream that broke off');
    this.#finish(emit);
  }

  #frame(chunk: Chunk, data: string): string {
    const repaired: unknown[] = [];
    let isIrregular = false;
    for (const part of chunk.parts) {
      const toolCalls = this.#note(part);
      isIrregular ||= part.isIrregular || toolCalls !== undefined;
      repaired.push(isIrregular ? repair(part, toolCalls) : part.choice);
    }
    if (isIrregular) return this.#around(JSON.stringify(repaired));
    const span = findMember(data, 'choices');
    if (span === undefined) return this.#around(JSON.stringify(chunk.json['choices']));
    this.#remember(chunk, data, span);
    const written = data.slice(span.from, span.to);
    return this.#around(written.includes('\n') ? JSON.stringify(chunk.json['choices']) : written);
  }

  /** Remembers the form of a chunk, because the next one usually has the same form. */
  #remember(chunk: Chunk, data: string, choices: Span): void {
    const [part] = chunk.parts;
    const isAlone = part !== undefined && this.#call.request.choices === 1 && chunk.parts.length === 1;
    const isTextAlone = isAlone && chunk.usage === undefined && this.#misses < MAX_MISSES;
    this.#template = isTextAlone ? templateOf(part, data, choices, this.#head, this.#tail) : undefined;
    if (this.#template !== undefined) this.#misses += 1;
  }

  #around(choices: string): string {
    return formatEncodedEvent(`${this.#head}${choices}${this.#tail}`);
  }

  /** @returns the calls put in order, if they arrived differently. */
  #note(part: ChoicePart): readonly unknown[] | undefined {
    const { tally } = this.#call;
    const progress = this.#stream.choice(part.index);
    if (part.text !== '') tally.addOutput(part.text);
    if (part.refusal !== '') tally.addOutput(part.refusal);
    if (part.reasoning !== '') tally.addReasoning(part.reasoning);
    if (part.finish !== undefined) progress.isFinished = true;
    if (part.toolCalls.length === 0) return undefined;
    let isIrregular = false;
    const ordered = part.toolCalls.map((delta) => {
      const piece = progress.calls.assign(delta);
      tally.addOutput(`${piece.name ?? ''}${piece.text}`);
      const hasItsForm =
        delta['index'] === piece.index && (piece.isFirst ? isValidBegin(delta, piece) : isValidContinuation(delta));
      if (!hasItsForm) isIrregular = true;
      return {
        index: piece.index,
        ...(piece.isFirst ? { id: piece.id, type: 'function' } : {}),
        function: { ...(piece.name === undefined ? {} : { name: piece.name }), arguments: piece.text },
      };
    });
    return isIrregular ? ordered : undefined;
  }

  /** Clients wait for an end of each choice, and for the usage if they requested it. */
  #finish(emit: (frame: string) => void): void {
    const unfinished = this.#stream.unfinished();
    this.#isOver = true;
    for (const [index, { calls }] of unfinished) {
      const choice = { index, delta: {}, finish_reason: calls.count > 0 ? 'tool_calls' : 'stop' };
      emit(this.#around(JSON.stringify([choice])));
    }
    if (!this.#includesUsage) return;
    emit(frameOf({ ...this.#meta, choices: [], usage: wireUsage(this.#call.tally.usage()) }));
  }
}

function isValidBegin(delta: Members, { id }: CallPiece): boolean {
  return delta['id'] === id && delta['type'] === 'function' && typeof argumentsOf(delta) !== 'object';
}

/** Clients that concatenate pieces would add repeated values again. */
function isValidContinuation(delta: Members): boolean {
  const called = delta['function'] as Members | undefined;
  return (delta['id'] ?? '') === '' && (called?.['name'] ?? '') === '' && typeof argumentsOf(delta) !== 'object';
}

function argumentsOf(delta: Members): unknown {
  return (delta['function'] as Members | undefined)?.['arguments'];
}

function repair(part: ChoicePart, toolCalls: readonly unknown[] | undefined): Members {
  const { reasoning: _, ...content } = part.content;
  const delta = {
    ...content,
    ...(part.reasoning === '' ? {} : { reasoning_content: part.reasoning }),
    ...(toolCalls === undefined ? {} : { tool_calls: toolCalls }),
  };
  return { ...part.choice, index: part.index, delta, finish_reason: part.finish ?? null };
}

/**
 * A whole completion: its content and how it ended are copied, everything else is ours. The fields that OpenAI's
 * document requires are there, whatever the upstream omits.
 *
 * @param json as the upstream sent it.
 * @throws {UpstreamFailure} `upstream_invalid`.
 */
export function chatBody(json: unknown, { id, model, createdAt, tally }: TextCall): Members {
  const { parts, usage } = readChatPiece(json, 'message');
  if (parts.length === 0) throw invalidAnswer('a completion without choices');
  const choices = parts.map((part) => {
    const toolCalls = wholeCalls(part);
    return {
      index: part.index,
      message: messageOf(part, toolCalls),
      logprobs: logprobsOf(part),
      finish_reason: part.finish ?? (toolCalls.length > 0 ? 'tool_calls' : 'stop'),
    };
  });
  for (const { text, refusal, reasoning, toolCalls } of parts) {
    tally.addOutput(text);
    tally.addOutput(refusal);
    tally.addReasoning(reasoning);
    for (const call of toolCalls) tally.addOutput(JSON.stringify(call['function']));
  }
  if (usage !== undefined) tally.report(usage);
  return {
    id,
    object: 'chat.completion',
    created: createdAt,
    model: model.name,
    choices,
    usage: wireUsage(tally.usage()),
  };
}

interface WholeCall {
  readonly id: string;
  readonly type: 'function';
  readonly function: { readonly name: string; readonly arguments: string };
}

function wholeCalls(part: ChoicePart): readonly WholeCall[] {
  return part.toolCalls.map((call) => {
    const { id, name, text } = new ToolCalls().assign(call);
    if (name === undefined) throw invalidAnswer('a tool call without a name');
    return { id, type: 'function', function: { name, arguments: text } };
  });
}

function messageOf(part: ChoicePart, toolCalls: readonly WholeCall[]): Members {
  const isSilent = part.text === '' && (toolCalls.length > 0 || part.refusal !== '');
  const { annotations } = part.content;
  return {
    role: 'assistant',
    content: isSilent ? null : part.text,
    refusal: part.refusal === '' ? null : part.refusal,
    annotations: Array.isArray(annotations) ? annotations : [],
    ...(part.reasoning === '' ? {} : { reasoning_content: part.reasoning }),
    ...(toolCalls.length === 0 ? {} : { tool_calls: toolCalls }),
  };
}

function logprobsOf({ logprobs }: ChoicePart): Members | null {
  if (logprobs === undefined) return null;
  return { content: logprobs['content'] ?? null, refusal: logprobs['refusal'] ?? null };
}
