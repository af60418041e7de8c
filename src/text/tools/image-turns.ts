/**
 * An answer of a model that may call the built-in tool `image_generation` (contract §9.9): the model's turns one after
 * the other, with the images that it asks for between them, as one stream of events. The client never sees the function
 * that the model is offered, and the model never sees more than its output.
 *
 * The number of turns is bounded, because each is paid: after the last image the function is no longer offered, and a
 * call of it has no effect.
 */
import type { TextModelDefinition } from '../../catalogue/text-definition.ts';
import { boundAddedTokens } from '../money/input-bound.ts';
import type { ContentPart, Message, TextRequest, ToolCall } from '../request.ts';
import { LONGEST_OUTPUT, imageOutputText } from '../responses/image-calls.ts';
import type { ImageCallItem } from '../responses/items.ts';
import type { FinishReason, OpenedAnswer, TextCall, TextEvent, TextSource } from '../source.ts';
import { promptOf } from './image-tool.ts';
import type { ImageTool } from './image-tool.ts';

interface ImageTurns {
  readonly source: TextSource;
  readonly tool: ImageTool;
  /** Counts the input tokens of a request. */
  readonly count: (request: TextRequest) => Promise<number>;
  readonly signal: AbortSignal;
}

/**
 * Opens the first turn; all others are part of the events.
 *
 * @param turns the tool and the source of the turns.
 * @throws what the source throws.
 */
export async function openImageTurns(turns: ImageTurns, call: TextCall): Promise<OpenedAnswer> {
  const first = await openTurn(turns, call, call.request);
  return { kind: 'events', events: eventsOf(turns, call, first) };
}

async function openTurn(
  { source, signal }: ImageTurns,
  call: TextCall,
  request: TextRequest,
): Promise<AsyncIterable<TextEvent>> {
  const opened = await source.open({ ...call, request, isReadHere: true }, signal);
  if (opened.kind !== 'events') throw new Error('an answer that is read here was not opened as events');
  return opened.events;
}

async function* eventsOf(
  turns: ImageTurns,
  call: TextCall,
  first: AsyncIterable<TextEvent>,
): AsyncGenerator<TextEvent> {
  const { tool, signal } = turns;
  let { request } = call;
  let events = first;
  let images = 0;
  for (;;) {
    const turn = new Turn(tool.offered.name);
    for await (const event of events) {
      if (turn.take(event, call)) yield event;
    }
    const wanted = turn.isCut ? [] : turn.imageCalls.slice(0, tool.maxImages - images);
    const items: ImageCallItem[] = [];
    for (const { arguments: text } of wanted) {
      const item = yield* generate(tool, images, promptOf(text), signal);
      images += 1;
      items.push(item);
    }
    // Calls of the client's functions are answered by the client.
    if (wanted.length === 0 || turn.callsClient) {
      yield { type: 'finish', choice: 0, reason: turn.reason };
      return;
    }
    const next = nextRequest(call, request, { turn, wanted, items, hasImagesLeft: images < tool.maxImages, tool });
    const inputTokens = await turns.count(next);
    if (next.maxOutputTokens === undefined || next.maxOutputTokens < 1 || inputTokens >= call.model.contextTokens) {
      yield { type: 'finish', choice: 0, reason: 'length' };
      return;
    }
    call.tally.nextTurn(inputTokens);
    request = next;
    events = await openTurn(turns, call, request);
  }
}

/** Generates one image. @returns its item, failed or not. */
async function* generate(
  tool: ImageTool,
  index: number,
  prompt: string | undefined,
  signal: AbortSignal,
): AsyncGenerator<TextEvent, ImageCallItem> {
  yield { type: 'image', choice: 0, step: { type: 'begun' } };
  const item = prompt === undefined ? WITHOUT_PROMPT : yield* run(tool, { index, prompt }, signal);
  yield { type: 'image', choice: 0, step: { type: 'done', item } };
  return item;
}

async function* run(
  tool: ImageTool,
  call: { readonly index: number; readonly prompt: string },
  signal: AbortSignal,
): AsyncGenerator<TextEvent, ImageCallItem> {
  const started = await tool.start(call, signal);
  if (typeof started !== 'string') return started;
  yield { type: 'image', choice: 0, step: { type: 'generating', taskId: started } };
  return tool.finish(started, call, signal);
}

const WITHOUT_PROMPT: ImageCallItem = {
  type: 'image_generation_call',
  status: 'failed',
  result: null,
  error: { code: 'invalid_prompt', message: 'the model called the tool without a prompt' },
};

/** The conversation with what the model wrote and the output of its calls. */
function nextRequest(
  call: TextCall,
  request: TextRequest,
  {
    turn,
    wanted,
    items,
    hasImagesLeft,
    tool,
  }: {
    readonly turn: Turn;
    readonly wanted: readonly ToolCall[];
    readonly items: readonly ImageCallItem[];
    readonly hasImagesLeft: boolean;
    readonly tool: ImageTool;
  },
): TextRequest {
  const outputs = wanted.map(({ id }, index): Message => {
    const item = items[index];
    const text = item === undefined ? '' : imageOutputText(item);
    return { role: 'tool', toolCallId: id, content: [{ type: 'text', text }] };
  });
  const others = request.tools.filter(({ name }) => name !== tool.offered.name);
  const { maxOutputTokens = call.model.maxOutputTokens } = call.request;
  return {
    ...request,
    messages: [...request.messages, turn.message(wanted), ...outputs],
    // Of a conversation with calls, some servers expect that the function is described.
    tools: hasImagesLeft || others.length === 0 ? request.tools : others,
    toolChoice: hasImagesLeft || others.length > 0 ? 'auto' : 'none',
    maxOutputTokens: maxOutputTokens - call.tally.usage().outputTokens,
  };
}

/** One turn of the model, while it passes. */
class Turn {
  readonly #functionName: string;
  readonly #imageCalls = new Map<number, { readonly id: string; text: string }>();
  readonly #content: ContentPart[] = [];
  #reasoning = '';
  #finish: FinishReason = 'stop';
  #callsClient = false;

  constructor(functionName: string) {
    this.#functionName = functionName;
  }

  /** @returns whether the event is for the client. The others are counted here. */
  take(event: TextEvent, { tally }: TextCall): boolean {
    switch (event.type) {
      case 'finish':
        this.#finish = event.reason;
        return false;
      case 'tool_call':
        if (event.name !== this.#functionName) {
          this.#callsClient = true;
          return true;
        }
        this.#imageCalls.set(event.index, { id: event.id, text: '' });
        tally.addOutput(event.name);
        return false;
      case 'tool_arguments': {
        const call = this.#imageCalls.get(event.index);
        if (call === undefined) return true;
        call.text += event.text;
        tally.addOutput(event.text);
        return false;
      }
      default:
        this.#note(event);
        return true;
    }
  }

  #note(event: TextEvent): void {
    if (event.type === 'reasoning') this.#reasoning += event.text;
    else if (event.type === 'text' || event.type === 'refusal') {
      const { type, text } = event;
      const last = this.#content.at(-1);
      if (type === 'refusal') this.#content.push({ type, refusal: text });
      else if (last?.type !== 'text') this.#content.push({ type, text });
      else this.#content[this.#content.length - 1] = { type, text: last.text + text };
    }
  }

  get imageCalls(): readonly ToolCall[] {
    return [...this.#imageCalls.values()].map(({ id, text }) => ({ id, name: this.#functionName, arguments: text }));
  }

  get callsClient(): boolean {
    return this.#callsClient;
  }

  /** The model did not come to its end, so that a call may be incomplete. */
  get isCut(): boolean {
    return this.#finish === 'length' || this.#finish === 'content_filter';
  }

  /** How the turn ended for the client, who knows nothing of calls of the tool. */
  get reason(): FinishReason {
    return this.#finish === 'tool_calls' && !this.#callsClient ? 'stop' : this.#finish;
  }

  /** What the model wrote, with the calls that were executed. */
  message(toolCalls: readonly ToolCall[]): Message {
    return {
      role: 'assistant',
      content: this.#content,
      toolCalls,
      ...(this.#reasoning === '' ? {} : { reasoning: this.#reasoning }),
    };
  }
}

/** The longest id of a call that common servers write has some 50 characters. */
const LONGEST_ID = 'x'.repeat(128);

/** A call of a model, with the built-in tool if the model may call it. */
interface BoundedTurns {
  readonly model: TextModelDefinition;
  readonly imageTool?: Pick<ImageTool, 'offered' | 'maxImages'> | undefined;
}

/**
 * The most input tokens of all turns together; without the tool there is one turn. After each call of the tool there is
 * another, whose input is the conversation so far. What the model wrote has about as many tokens when it reads it
 * again; the margins of the calls are for the rest.
 *
 * @param inputTokens the bound of the first turn.
 * @param maxOutputTokens the cap of all turns together.
 */
export async function boundInputOfTurns(
  { model, imageTool }: BoundedTurns,
  inputTokens: number,
  maxOutputTokens: number,
): Promise<number> {
  if (imageTool === undefined) return inputTokens;
  const { offered, maxImages: images } = imageTool;
  const toolCall = { id: LONGEST_ID, name: offered.name, arguments: '' };
  const perCall = await boundAddedTokens(
    [
      { role: 'assistant', content: [{ type: 'text', text: '' }], toolCalls: [toolCall] },
      { role: 'tool', toolCallId: LONGEST_ID, content: [{ type: 'text', text: LONGEST_OUTPUT }] },
    ],
    model,
  );
  // An upstream rejects what does not fit the context; the bound of the first turn may be above it.
  const last = Math.min(inputTokens + maxOutputTokens + images * perCall, Math.max(model.contextTokens, inputTokens));
  return inputTokens + images * last;
}
