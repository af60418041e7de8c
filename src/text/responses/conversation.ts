/**
 * From the items of a conversation to the messages that a model is given. Items are finer: the reasoning, text and
 * calls of one assistant turn are separate items, and here they are combined again, so that the outputs of calls
 * directly follow the message that called.
 */
import type { ContentPart, Message, ToolCall } from '../request.ts';
import { foreignReasoning, reasoningText } from './items.ts';
import type { InputPart, ModelItem, OutputMessageItem } from './items.ts';

/**
 * Leaves out what belongs to no message: reasoning that is followed by neither a message nor a function call of the
 * same turn, and assistant messages without readable content. Upstreams reject the former, and neither is counted.
 */
export function withoutLoneReasoning<Item extends ModelItem>(items: readonly Item[]): readonly Item[] {
  let isFollowed = false;
  return items
    .toReversed()
    .filter((item) => {
      if (item.type === 'reasoning') return isFollowed;
      const isOfAssistant = item.type === 'function_call' || (item.type === 'message' && item.role === 'assistant');
      if (item.type === 'message' && item.role === 'assistant' && !item.content.some(isReadable)) return false;
      isFollowed = isOfAssistant;
      return true;
    })
    .toReversed();
}

function isReadable({ type }: OutputMessageItem['content'][number]): boolean {
  return type === 'output_text' || type === 'refusal';
}

/** The messages for a model from validated items. @param instructions what comes before everything else. */
export function messagesOf(instructions: string | undefined, items: readonly ModelItem[]): readonly Message[] {
  const messages: Message[] = [];
  if (instructions !== undefined && instructions !== '') {
    messages.push({ role: 'system', content: [{ type: 'text', text: instructions }] });
  }
  let turn = new AssistantTurn();
  const endTurn = (): void => {
    messages.push(...turn.messages());
    turn = new AssistantTurn();
  };
  for (const item of items) {
    if (item.type === 'reasoning') turn.think(reasoningText(item), foreignReasoning(item));
    else if (item.type === 'function_call') turn.call({ id: item.call_id, name: item.name, arguments: item.arguments });
    else if (item.type === 'function_call_output') {
      endTurn();
      messages.push({ role: 'tool', toolCallId: item.call_id, content: outputParts(item.output) });
    } else if (item.role === 'assistant') turn.say(item.content);
    else {
      endTurn();
      messages.push({ role: item.role, content: item.content.map(inputPart) });
    }
  }
  endTurn();
  return messages;
}

function outputParts(output: string | readonly InputPart[]): readonly ContentPart[] {
  return typeof output === 'string' ? [{ type: 'text', text: output }] : output.map(inputPart);
}

function inputPart(part: InputPart): ContentPart {
  if (part.type === 'input_text') return { type: 'text', text: part.text };
  const { image_url: url, detail } = part;
  return { type: 'image', url, ...(detail === 'auto' ? {} : { detail }) };
}

interface Draft {
  reasoning: string[];
  sealedReasoning: string;
  content: ContentPart[];
  toolCalls: ToolCall[];
}

/**
 * The items of an assistant between two of others. After a call, what follows joins the same message: the outputs have
 * to come next. Before that, each message item, and each reasoning item after one, begins a message.
 */
class AssistantTurn {
  readonly #drafts: Draft[] = [];

  think(text: string | undefined, sealed: string): void {
    const draft = this.#draft((open) => open.content.length === 0);
    if (text !== undefined) draft.reasoning.push(text);
    draft.sealedReasoning += sealed;
  }

  say(content: OutputMessageItem['content']): void {
    const draft = this.#draft((open) => open.content.length === 0);
    for (const part of content) {
      if (part.type === 'output_text') draft.content.push({ type: 'text', text: part.text });
      // Items from an upstream of this endpoint may have parts of their own.
      else if (part.type === 'refusal') draft.content.push({ type: 'refusal', refusal: part.refusal });
    }
  }

  call(toolCall: ToolCall): void {
    this.#draft(() => true).toolCalls.push(toolCall);
  }

  /** Reasoning that nothing followed is left out: it belongs to no message. */
  messages(): readonly Message[] {
    return this.#drafts
      .filter(({ content, toolCalls }) => content.length > 0 || toolCalls.length > 0)
      .map(({ reasoning, sealedReasoning, content, toolCalls }) => ({
        role: 'assistant',
        content,
        toolCalls,
        ...(reasoning.length > 0 ? { reasoning: reasoning.join('\n\n') } : {}),
        ...(sealedReasoning === '' ? {} : { sealedReasoning }),
      }));
  }

  /** The last draft, if it accepts more, or a new one. */
  #draft(takesMore: (open: Draft) => boolean): Draft {
    const open = this.#drafts.at(-1);
    if (open !== undefined && (open.toolCalls.length > 0 || takesMore(open))) return open;
    const draft: Draft = { reasoning: [], sealedReasoning: '', content: [], toolCalls: [] };
    this.#drafts.push(draft);
    return draft;
  }
}
