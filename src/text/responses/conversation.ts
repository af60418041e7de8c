/**
 * A conversation on its way to a model: from its items to the messages that the model is given, as much of it as the
 * model can take, and the same written out for an upstream that knows items itself. Items are finer than messages: the
 * reasoning, text and calls of one assistant turn are separate items, and here they are combined again, so that the
 * outputs of calls directly follow the message that called.
 */
import type { ContentPart, Message, ToolCall } from '../request.ts';
import { countEach } from '../tokens.ts';
import type { CountedRequest } from '../tokens.ts';
import type { DecodedResponsesRequest, ResponsesBody } from './decode-request.ts';
import { foreignReasoning, isSealedHere, reasoningText } from './items.ts';
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

/**
 * `truncation: "auto"` (contract §9): if a model cannot take the whole conversation, its oldest turns are left out.
 * System messages stay, and so does the last turn. A turn begins with a user message, so that no call is separated
 * from its output. Items are left out, and not messages, so that every upstream is sent the same conversation.
 *
 * @param room how many tokens the model takes, not counting its answer.
 * @param count counts the tokens of each of some requests.
 * @returns the request, unchanged or without its oldest turns. It may still be too long: the last turn alone may be.
 */
export async function fitConversation(
  decoded: DecodedResponsesRequest,
  room: number,
  count: (requests: readonly CountedRequest[]) => Promise<readonly number[]> = countEach,
): Promise<DecodedResponsesRequest> {
  const { request, instructions, items } = decoded;
  const { turns, systemItems } = partsOf(items);
  if (turns.length < 2) return decoded;
  const [whole = 0, ...parts] = await count([
    request,
    { ...request, messages: messagesOf(instructions, systemItems) },
    ...turns.map((turn): CountedRequest => ({
      messages: messagesOf(undefined, turn),
      tools: [],
      format: { type: 'text' },
    })),
  ]);
  if (whole <= room) return decoded;
  let left = room - (parts[0] ?? 0);
  const taken = new Set(systemItems);
  for (const [index, turn] of [...turns.entries()].toReversed()) {
    const isNewest = taken.size === systemItems.length;
    left -= parts[1 + index] ?? 0;
    if (left < 0 && !isNewest) break;
    for (const item of turn) taken.add(item);
  }
  const fitting = items.filter((item) => taken.has(item));
  return { ...decoded, items: fitting, request: { ...request, messages: messagesOf(instructions, fitting) } };
}

function partsOf(items: readonly ModelItem[]): {
  readonly turns: ModelItem[][];
  readonly systemItems: readonly ModelItem[];
} {
  const turns: ModelItem[][] = [];
  const systemItems: ModelItem[] = [];
  for (const item of items) {
    const role = item.type === 'message' ? item.role : undefined;
    if (role === 'system' || role === 'developer') systemItems.push(item);
    else if (role === 'user' || turns.length === 0) turns.push([item]);
    else turns.at(-1)?.push(item);
  }
  return { turns, systemItems };
}

/**
 * The body of a request as it is sent to an upstream with this endpoint (contract §9): upstreams do not know our
 * stored responses, so the conversation is written out, and nothing is to be stored there.
 *
 * @param items the whole conversation: everything by which `request` was bounded, and nothing else.
 */
export function selfContainedBody(
  body: ResponsesBody,
  { request, rendering }: Pick<DecodedResponsesRequest, 'request' | 'rendering'>,
  items: readonly ModelItem[],
): Readonly<Record<string, unknown>> {
  const { previous_response_id: _, ...rest } = body;
  const { summary } = rendering.echo.reasoning;
  const effort = request.reasoningEffort;
  const reasoning = { ...(effort === undefined ? {} : { effort }), ...(summary === null ? {} : { summary }) };
  return {
    ...rest,
    input: typeof body.input === 'string' && items.length === 1 ? body.input : written(items),
    store: false,
    // `enabled` is our own.
    ...(body['reasoning'] == null ? {} : { reasoning }),
  };
}

function written(items: readonly ModelItem[]): readonly Readonly<Record<string, unknown>>[] {
  return items.map(({ id, ...item }) => {
    if (item.type !== 'reasoning') return item;
    // Reasoning that an upstream sealed itself is identified by its id; what was sealed here means nothing to the
    // upstream.
    if (item.encrypted_content !== undefined && !isSealedHere(item)) return id === undefined ? item : { ...item, id };
    const text = reasoningText(item);
    return {
      type: 'reasoning',
      summary: [],
      content: text === undefined ? [] : [{ type: 'reasoning_text', text }],
    };
  });
}
