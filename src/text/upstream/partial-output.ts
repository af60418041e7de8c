/**
 * The output of a response as far as its stream has come: completed items as they were reported, and incomplete ones
 * with their content so far. Needed if the stream breaks off: the failed response shows what was generated.
 */

import { isRecord } from '../../domain/json.ts';
import type { Members } from './read-answer.ts';

/** The part that a delta extends. */
interface DeltaForm {
  readonly list: 'content' | 'summary';
  readonly index: 'content_index' | 'summary_index';
  readonly type: string;
  readonly field: 'text' | 'refusal';
}

const REASONING: DeltaForm = { list: 'content', index: 'content_index', type: 'reasoning_text', field: 'text' };
const DELTAS: Readonly<Record<string, DeltaForm>> = {
  'response.output_text.delta': { list: 'content', index: 'content_index', type: 'output_text', field: 'text' },
  'response.refusal.delta': { list: 'content', index: 'content_index', type: 'refusal', field: 'refusal' },
  'response.reasoning_text.delta': REASONING,
  'response.reasoning.delta': REASONING,
  'response.reasoning_summary_text.delta': {
    list: 'summary',
    index: 'summary_index',
    type: 'summary_text',
    field: 'text',
  },
};

interface OpenPart {
  readonly form: DeltaForm;
  text: string;
  readonly logprobs: unknown[];
}

/** An item that was announced and is not done. */
interface OpenItem {
  readonly item: Members;
  readonly content: Map<number, OpenPart>;
  readonly summary: Map<number, OpenPart>;
  arguments: string;
}

export class PartialOutput {
  /** Completed items by their index in the output. */
  readonly #done = new Map<number, Members>();
  readonly #open = new Map<number, OpenItem>();

  /** Records one event of the stream. */
  record(type: string, json: Members): void {
    const index = numberIn(json, 'output_index');
    const { item, delta } = json;
    if (isRecord(item)) {
      if (type === 'response.output_item.added') {
        this.#open.set(index, { item, content: new Map(), summary: new Map(), arguments: '' });
      } else if (type === 'response.output_item.done') {
        this.#open.delete(index);
        this.#done.set(index, item);
      }
      return;
    }
    if (typeof delta !== 'string') return;
    const open = this.#open.get(index);
    if (open === undefined) return;
    if (type === 'response.function_call_arguments.delta') open.arguments += delta;
    const form = DELTAS[type];
    if (form !== undefined) addTo(open[form.list], form, json, delta);
  }

  /** Returns the items in the order of the output. Items that are not complete are `incomplete`. */
  items(): readonly Members[] {
    const open = [...this.#open].map(([index, item]) => [index, incompleteItem(item)] as const);
    return [...this.#done, ...open].toSorted(([a], [b]) => a - b).map(([, item]) => item);
  }
}

function addTo(parts: Map<number, OpenPart>, form: DeltaForm, json: Members, delta: string): void {
  const index = numberIn(json, form.index);
  let part = parts.get(index);
  if (part === undefined) {
    part = { form, text: '', logprobs: [] };
    parts.set(index, part);
  }
  part.text += delta;
  const { logprobs } = json;
  if (Array.isArray(logprobs)) part.logprobs.push(...(logprobs as readonly unknown[]));
}

function incompleteItem({ item, content, summary, arguments: text }: OpenItem): Members {
  return {
    ...item,
    status: 'incomplete',
    ...(content.size === 0 ? {} : { content: partsOf(content) }),
    ...(summary.size === 0 ? {} : { summary: partsOf(summary) }),
    ...(item['type'] === 'function_call' ? { arguments: text } : {}),
  };
}

function partsOf(parts: ReadonlyMap<number, OpenPart>): readonly Members[] {
  return [...parts]
    .toSorted(([a], [b]) => a - b)
    .map(([, { form, text, logprobs }]) => ({
      type: form.type,
      [form.field]: text,
      ...(form.type === 'output_text' ? { annotations: [], logprobs } : {}),
    }));
}

/** An index; the first if an upstream does not specify it. */
function numberIn(json: Members, name: string): number {
  const value = json[name];
  return typeof value === 'number' ? value : 0;
}
