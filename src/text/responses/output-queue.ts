/**
 * Puts an answer's events in the order in which items may be written: one after another, never overlapping
 * (contract §9), although calls may be generated all at once. Each piece of text, reasoning or call belongs to a
 * section; only the first unfinished section is written, and pieces of later ones wait behind it.
 *
 * A message or reasoning is finished when something else begins. A call is finished when its arguments are a whole JSON
 * object and something else has begun; a call whose arguments are not, at the end of the answer.
 */
import type { TextEvent, TokenLogprob } from '../source.ts';

/** A piece of a section. */
export type Piece =
  | { readonly type: 'text'; readonly text: string; readonly logprobs: readonly TokenLogprob[] }
  | { readonly type: 'refusal' | 'reasoning' | 'arguments'; readonly text: string };

export type SectionKind =
  | { readonly type: 'message' | 'reasoning' }
  | { readonly type: 'call'; readonly id: string; readonly name: string };

/** Receives what the queue writes. */
export interface SectionWriter {
  open(kind: SectionKind): void;
  write(piece: Piece): void;
  /** @param isCut the answer ended in the middle of it. */
  close(isCut: boolean): void;
}

interface Section {
  readonly kind: SectionKind;
  readonly waiting: Piece[];
  readonly object: WholeObject;
  isOpen: boolean;
}

type ContentEvent = Exclude<TextEvent, { type: 'finish' | 'usage' | 'image' }>;

export class OutputQueue {
  readonly #writer: SectionWriter;
  /** Unfinished sections; only the first may be open. */
  readonly #sections: Section[] = [];
  readonly #calls = new Map<number, Section>();
  #last: Section | undefined;

  constructor(writer: SectionWriter) {
    this.#writer = writer;
  }

  add(event: ContentEvent): void {
    if (event.type === 'tool_call') {
      const { index, id, name } = event;
      this.#calls.set(index, this.#begin({ type: 'call', id, name }));
      this.#advance();
      return;
    }
    // An empty piece has no content: many upstreams begin with one.
    if (event.text === '' && (event.type !== 'text' || (event.logprobs ?? []).length === 0)) return;
    const section = this.#sectionFor(event);
    if (section === undefined) return;
    this.#last = section;
    const piece = pieceOf(event);
    if (section.kind.type === 'call') section.object.add(event.text);
    if (section.isOpen) this.#writer.write(piece);
    else section.waiting.push(piece);
    this.#advance();
  }

  /** Writes everything that waits. @param isCut the answer ended in the middle of what came last. */
  finish(isCut: boolean): void {
    for (const section of this.#sections.splice(0)) {
      this.#open(section);
      this.#writer.close(isCut && section === this.#last && !section.object.isWhole);
    }
  }

  /** The section that a piece belongs to, which may begin with it; undefined: it belongs to none. */
  #sectionFor(event: Exclude<ContentEvent, { type: 'tool_call' }>): Section | undefined {
    if (event.type === 'tool_arguments') {
      const section = this.#calls.get(event.index);
      return section !== undefined && this.#sections.includes(section) ? section : undefined;
    }
    const type = event.type === 'reasoning' ? 'reasoning' : 'message';
    const last = this.#sections.at(-1);
    return last?.kind.type === type ? last : this.#begin({ type });
  }

  #begin(kind: SectionKind): Section {
    const section: Section = { kind, waiting: [], object: new WholeObject(), isOpen: false };
    this.#sections.push(section);
    this.#last = section;
    return section;
  }

  /** Closes finished sections and opens the next one. */
  #advance(): void {
    for (let first = this.#sections[0]; first !== undefined; first = this.#sections[0]) {
      this.#open(first);
      const isOver = this.#sections.length > 1 && (first.kind.type !== 'call' || first.object.isWhole);
      if (!isOver) return;
      this.#sections.shift();
      this.#writer.close(false);
    }
  }

  #open(section: Section): void {
    if (section.isOpen) return;
    section.isOpen = true;
    this.#writer.open(section.kind);
    for (const piece of section.waiting.splice(0)) this.#writer.write(piece);
  }
}

function pieceOf(event: Exclude<ContentEvent, { type: 'tool_call' }>): Piece {
  if (event.type === 'text') return { type: 'text', text: event.text, logprobs: event.logprobs ?? [] };
  return { type: event.type === 'tool_arguments' ? 'arguments' : event.type, text: event.text };
}

/**
 * Detects the end of a JSON object that arrives in pieces. Its content is not validated: a model's arguments need not
 * be valid, and only their end matters here.
 */
class WholeObject {
  #depth = 0;
  #isInString = false;
  #isEscaped = false;
  #isWhole = false;

  /** The bracket that closes the object has arrived. */
  get isWhole(): boolean {
    return this.#isWhole;
  }

  add(text: string): void {
    for (let index = 0; index < text.length && !this.#isWhole; index++) this.#take(text.charAt(index));
  }

  #take(character: string): void {
    if (this.#isInString) {
      if (this.#isEscaped) this.#isEscaped = false;
      else if (character === '\\') this.#isEscaped = true;
      else if (character === '"') this.#isInString = false;
      return;
    }
    if (character === '"') this.#isInString = true;
    else if (character === '{' || character === '[') this.#depth += 1;
    else if (character === '}' || character === ']') {
      this.#depth -= 1;
      this.#isWhole = this.#depth === 0;
    }
  }
}
