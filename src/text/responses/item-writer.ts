/**
 * Writes the items of an answer as stream events, and collects them for the response object: an item is added, its
 * parts are added, grow and are done, and then the item is done (contract §9). The texts that are done are the
 * concatenated deltas. The order of items is decided in output-queue.ts.
 */
import type { ImageStep, TokenLogprob } from '../source.ts';
import { itemId, sealReasoning, wireLogprobs } from './items.ts';
import type {
  ImageCallItem,
  ItemStatus,
  OutputItem,
  OutputTextPart,
  ReasoningItem,
  RefusalPart,
  UnnamedOutputItem,
  WireLogprob,
} from './items.ts';
import type { Piece, SectionKind, SectionWriter } from './output-queue.ts';

/** Receives the events, without their sequence numbers. */
export type Emit = (type: string, data: Readonly<Record<string, unknown>>) => void;

/** Which parts of an answer are shown, and how. */
export interface ItemStyle {
  readonly showsLogprobs: boolean;
  readonly sealsReasoning: boolean;
}

/** An item that is being written. */
interface OpenItem {
  /** Its current content. */
  read(status: ItemStatus): UnnamedOutputItem;
  write(piece: Piece): void;
  /** The last part is done. */
  endPart(): void;
}

/** The position of an item: included in each of its events. */
interface ItemPosition {
  readonly item_id: string;
  readonly output_index: number;
}

export class ItemWriter implements SectionWriter {
  readonly #responseId: string;
  readonly #style: ItemStyle;
  readonly #emit: Emit;
  readonly #done: OutputItem[] = [];
  #open: OpenItem | undefined;
  /** An image that is being generated; no other item is open then. */
  #image: ImageCallItem | undefined;

  constructor(responseId: string, style: ItemStyle, emit: Emit) {
    this.#responseId = responseId;
    this.#style = style;
    this.#emit = emit;
  }

  open(kind: SectionKind): void {
    const item = this.#itemOf(kind);
    this.#open = item;
    this.#emit('response.output_item.added', {
      output_index: this.#done.length,
      item: this.#named(item.read('in_progress')),
    });
    if (kind.type === 'reasoning') item.write({ type: 'reasoning', text: '' });
  }

  write(piece: Piece): void {
    this.#open?.write(piece);
  }

  close(isCut: boolean): void {
    if (this.#open === undefined) return;
    this.#open.endPart();
    const item = this.#named(this.#open.read(isCut ? 'incomplete' : 'completed'));
    this.#emit('response.output_item.done', { output_index: this.#done.length, item });
    this.#open = undefined;
    this.#done.push(item);
  }

  /** Writes the next step of an image. */
  writeImage(step: ImageStep): void {
    const output_index = this.#done.length;
    const item = itemAfter(step);
    const named = { ...this.#named(item) };
    for (const { type, ...data } of imageEvents(step, named, output_index)) this.#emit(type, data);
    this.#image = step.type === 'done' ? undefined : item;
    if (step.type === 'done') this.#done.push(named);
  }

  /** Everything that was added. @param status the status of an item that is not done. */
  items(status: 'in_progress' | 'incomplete'): readonly OutputItem[] {
    const last = this.#open?.read(status) ?? this.#image;
    return last === undefined ? [...this.#done] : [...this.#done, this.#named(last)];
  }

  #named(item: UnnamedOutputItem): OutputItem {
    return { id: itemId(this.#responseId, item, this.#done.length), ...item };
  }

  #itemOf(kind: SectionKind): OpenItem {
    const position = (type: UnnamedOutputItem['type']): ItemPosition => {
      const output_index = this.#done.length;
      return { item_id: itemId(this.#responseId, { type }, output_index), output_index };
    };
    switch (kind.type) {
      case 'message':
        return openMessage(position('message'), this.#emit, this.#style);
      case 'reasoning':
        return openReasoning(position('reasoning'), this.#emit, this.#style);
      case 'call':
        return openCall(position('function_call'), this.#emit, kind);
    }
  }
}

/** What an image is after a step. */
function itemAfter(step: ImageStep): ImageCallItem {
  const image = { type: 'image_generation_call', result: null } as const;
  if (step.type === 'begun') return { ...image, status: 'in_progress' };
  return step.type === 'done' ? step.item : { ...image, status: 'generating', task_id: step.taskId };
}

/** Text and refusals are parts of one message; when one follows the other, a new part begins. */
function openMessage(position: ItemPosition, emit: Emit, { showsLogprobs }: ItemStyle): OpenItem {
  const parts: OpenPart[] = [];
  const endPart = (): void => parts.at(-1)?.end();
  return {
    read: (status) => ({ type: 'message', status, role: 'assistant', content: parts.map((part) => part.read()) }),
    write(piece) {
      const type = piece.type === 'refusal' ? 'refusal' : 'output_text';
      let part = parts.at(-1);
      if (part?.type !== type) {
        endPart();
        const where = { ...position, content_index: parts.length };
        part = type === 'refusal' ? openRefusal(where, emit) : openText(where, emit);
        parts.push(part);
        emit('response.content_part.added', { ...where, part: part.read() });
      }
      part.write(piece.text, showsLogprobs && piece.type === 'text' ? piece.logprobs : []);
    },
    endPart,
  };
}

interface OpenPart {
  readonly type: 'output_text' | 'refusal';
  read(): OutputTextPart | RefusalPart;
  write(text: string, logprobs: readonly TokenLogprob[]): void;
  end(): void;
}

function openText(where: Readonly<Record<string, unknown>>, emit: Emit): OpenPart {
  let text = '';
  const logprobs: WireLogprob[] = [];
  const read = (): OutputTextPart => ({ type: 'output_text', text, annotations: [], logprobs: [...logprobs] });
  return {
    type: 'output_text',
    read,
    write(delta, tokens) {
      const encoded = wireLogprobs(tokens);
      text += delta;
      logprobs.push(...encoded);
      emit('response.output_text.delta', { ...where, delta, logprobs: encoded });
    },
    end() {
      emit('response.output_text.done', { ...where, text, logprobs });
      emit('response.content_part.done', { ...where, part: read() });
    },
  };
}

function openRefusal(where: Readonly<Record<string, unknown>>, emit: Emit): OpenPart {
  let refusal = '';
  const read = (): RefusalPart => ({ type: 'refusal', refusal });
  return {
    type: 'refusal',
    read,
    write(delta) {
      refusal += delta;
      emit('response.refusal.delta', { ...where, delta });
    },
    end() {
      emit('response.refusal.done', { ...where, refusal });
      emit('response.content_part.done', { ...where, part: read() });
    },
  };
}

/**
 * The reasoning, reported as a summary: the one form that OpenAI's document and Open Responses have in common, and
 * that clients show.
 */
function openReasoning(position: ItemPosition, emit: Emit, { sealsReasoning }: ItemStyle): OpenItem {
  const where = { ...position, summary_index: 0 };
  let text = '';
  let hasPart = false;
  const part = () => ({ type: 'summary_text' as const, text });
  return {
    read: (status): ReasoningItem => ({
      type: 'reasoning',
      status,
      summary: hasPart ? [part()] : [],
      ...(sealsReasoning && status !== 'in_progress' ? { encrypted_content: sealReasoning(text) } : {}),
    }),
    write({ text: delta }) {
      if (!hasPart) emit('response.reasoning_summary_part.added', { ...where, part: part() });
      hasPart = true;
      if (delta === '') return;
      text += delta;
      emit('response.reasoning_summary_text.delta', { ...where, delta });
    },
    endPart() {
      emit('response.reasoning_summary_text.done', { ...where, text });
      emit('response.reasoning_summary_part.done', { ...where, part: part() });
    },
  };
}

function openCall(position: ItemPosition, emit: Emit, call: { readonly id: string; readonly name: string }): OpenItem {
  let text = '';
  return {
    read: (status) => ({ type: 'function_call', status, arguments: text, call_id: call.id, name: call.name }),
    write({ text: delta }) {
      text += delta;
      emit('response.function_call_arguments.delta', { ...position, delta });
    },
    endPart() {
      emit('response.function_call_arguments.done', { ...position, name: call.name, arguments: text });
    },
  };
}

/**
 * The events of a call of the built-in tool `image_generation`: those of one step while it is generated, and all of
 * them when its stream is sent again. Their order is OpenAI's: the item is added, in progress and generating; it is
 * completed, unless it failed, and then done, with the image. No model here has partial images.
 */
type Members = Readonly<Record<string, unknown>>;

interface ImageEvent extends Members {
  readonly type: string;
}

/** @param item with its id, as it is after the step. */
export function* imageEvents(
  step: Pick<ImageStep, 'type'>,
  item: Members,
  output_index: number,
): Generator<ImageEvent> {
  const where = { item_id: item['id'], output_index };
  switch (step.type) {
    case 'begun':
      yield { type: 'response.output_item.added', output_index, item };
      yield { type: 'response.image_generation_call.in_progress', ...where };
      return;
    case 'generating':
      yield { type: 'response.image_generation_call.generating', ...where, task_id: item['task_id'] };
      return;
    case 'done':
      if (item['status'] !== 'failed') {
        yield { type: 'response.image_generation_call.completed', ...where };
      }
      yield { type: 'response.output_item.done', output_index, item };
  }
}
