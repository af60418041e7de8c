/**
 * The input of a request, item by item: from what a client may write to the complete form that is stored and from
 * which the conversation is read. The schema has validated the form of each item (packages/api, openai/responses-input.ts); here it is
 * validated what each role may say, and what an item refers to.
 */
import { addressOfFile } from '../images.ts';
import { given, isFileReference, readImageUrl } from '../parameters.ts';
import { InvalidTextRequest } from '../text-failure.ts';
import { summaryMessage } from './compaction.ts';
import { decodeImageCall } from './image-calls.ts';
import type {
  ConversationItem,
  FunctionCallOutputItem,
  InputMessageItem,
  InputPart,
  ItemStatus,
  OutputMessageItem,
  OutputTextPart,
  ReasoningItem,
  RefusalPart,
  UnnamedInputItem,
} from './items.ts';

/** An object of the request, whose schema has checked it (packages/api/src/openai/responses-request.ts): hence the casts. */
type WireObject = Readonly<Record<string, unknown>>;
type WirePart = WireObject & { readonly type: string };
type WireContent = string | readonly WirePart[];

/** What an input may refer to. */
export interface EarlierItems {
  /** The conversation that the request continues. */
  readonly conversation: readonly ConversationItem[];
  /** Other stored items, by their ids. */
  readonly referenced: ReadonlyMap<string, ConversationItem>;
}

/** The ids that `item_reference`s of an input name. */
export function referencedIds(input: string | readonly WireObject[] | null | undefined): readonly string[] {
  if (typeof input !== 'object' || input === null) return [];
  return input.filter((item) => typeOf(item) === 'item_reference').map((item) => String(item['id']));
}

/** @throws {InvalidTextRequest} naming the field. */
export function decodeInput(input: string | readonly WireObject[], earlier: EarlierItems): readonly UnnamedInputItem[] {
  if (typeof input === 'string') {
    return [{ type: 'message', role: 'user', status: 'completed', content: [{ type: 'input_text', text: input }] }];
  }
  const items = input.map((item, index) => decodeItem(item, `input.${index}`, earlier));
  requireCalls(items, earlier.conversation);
  return items;
}

function typeOf(item: WireObject): string | undefined {
  const type = given<string>(item['type']);
  if (type !== undefined) return type;
  if (item['role'] !== undefined) return 'message';
  return typeof item['id'] === 'string' ? 'item_reference' : undefined;
}

const ITEM_TYPES = [
  'message',
  'function_call',
  'function_call_output',
  'reasoning',
  'image_generation_call',
  'compaction',
  'item_reference',
];

function decodeItem(item: WireObject, where: string, earlier: EarlierItems): UnnamedInputItem {
  const id = given<string>(item['id']);
  const named = id === undefined ? {} : { id };
  const type = typeOf(item);
  switch (type) {
    case 'message':
      return { ...messageOf(item, where), ...named };
    case 'function_call':
      return {
        type,
        status: statusOf(item),
        call_id: item['call_id'] as string,
        name: item['name'] as string,
        arguments: item['arguments'] as string,
        ...named,
      };
    case 'function_call_output':
      return { ...outputOf(item, where), ...named };
    case 'reasoning':
      return { ...reasoningOf(item), ...named };
    case 'image_generation_call':
      return { ...decodeImageCall(item, where), ...named };
    case 'compaction':
      return { ...summaryMessage(item['encrypted_content'] as string, where), ...named };
    case 'item_reference':
      return referenceOf(String(id), where, earlier);
    case undefined: {
      const missing = `${where}.type`;
      throw new InvalidTextRequest(
        missing,
        `invalid request: missing property: ${missing}`,
        'missing_required_parameter',
      );
    }
    default:
      throw unsupportedType(type, where, `an item is one of ${ITEM_TYPES.join(', ')}`);
  }
}

function unsupportedType(type: string, where: string, want: string): InvalidTextRequest {
  const shown = JSON.stringify(type.slice(0, 64));
  return new InvalidTextRequest(`${where}.type`, `${where}.type: got ${shown}, and ${want}`, 'unsupported_value');
}

function statusOf(item: WireObject): ItemStatus {
  return given<ItemStatus>(item['status']) ?? 'completed';
}

function messageOf(item: WireObject, where: string): InputMessageItem | OutputMessageItem {
  const role = item['role'] as 'user' | 'assistant' | 'system' | 'developer';
  const content = item['content'] as WireContent;
  const status = statusOf(item);
  if (role === 'assistant') {
    return { type: 'message', role, status, content: assistantParts(content, `${where}.content`) };
  }
  const allowed = role === 'user' ? ['input_text', 'input_image'] : ['input_text'];
  const speaker = `a message of role ${role}`;
  return { type: 'message', role, status, content: inputParts(content, `${where}.content`, speaker, allowed) };
}

function assistantParts(content: WireContent, where: string): readonly (OutputTextPart | RefusalPart)[] {
  const outputText = (text: string): OutputTextPart => ({ type: 'output_text', text, annotations: [], logprobs: [] });
  if (typeof content === 'string') return [outputText(content)];
  return content.map((part, index) => {
    if (part.type === 'output_text') return outputText(part['text'] as string);
    if (part.type === 'refusal') return { type: 'refusal', refusal: part['refusal'] as string };
    const want = 'a message of role assistant has parts of type output_text or refusal';
    throw unsupportedType(part.type, `${where}.${index}`, want);
  });
}

function inputParts(
  content: WireContent,
  where: string,
  speaker: string,
  allowed: readonly string[],
): readonly InputPart[] {
  if (typeof content === 'string') return [{ type: 'input_text', text: content }];
  return content.map((part, index) => {
    if (!allowed.includes(part.type)) {
      throw unsupportedType(part.type, `${where}.${index}`, `${speaker} has parts of type ${allowed.join(' or ')}`);
    }
    if (part.type === 'input_text') return { type: 'input_text', text: part['text'] as string };
    return imageOf(part, `${where}.${index}`);
  });
}

function imageOf(part: WirePart, where: string): InputPart {
  const fileId = given<string>(part['file_id']) || undefined;
  const sent = given<string>(part['image_url']) || (fileId === undefined ? undefined : fileAddressOf(fileId, where));
  if (sent === undefined) {
    const missing = `${where}.image_url`;
    throw new InvalidTextRequest(
      missing,
      `invalid request: missing property: ${missing}`,
      'missing_required_parameter',
    );
  }
  if (fileId !== undefined && sent !== addressOfFile(fileId)) {
    throw new InvalidTextRequest(`${where}.file_id`, `${where}: has file_id and image_url; send only one`);
  }
  const url = fileId === undefined ? readImageUrl(sent) : sent;
  if (url === undefined) {
    const message = `${where}.image_url: want an https URL or data:image/…;base64,… of an image that is not HEIC`;
    throw new InvalidTextRequest(`${where}.image_url`, message, 'invalid_image_url');
  }
  const detail = given<string>(part['detail']) ?? 'auto';
  if (detail !== 'auto' && detail !== 'low' && detail !== 'high') {
    const shown = JSON.stringify(detail.slice(0, 64));
    const message = `${where}.detail: got ${shown}, want one of auto, low, high`;
    throw new InvalidTextRequest(`${where}.detail`, message, 'unsupported_value');
  }
  return { type: 'input_image', image_url: url, detail };
}

function fileAddressOf(fileId: string, where: string): string {
  if (isFileReference(fileId)) return addressOfFile(fileId);
  throw new InvalidTextRequest(`${where}.file_id`, `${where}.file_id: want the id of a file`);
}

function outputOf(item: WireObject, where: string): FunctionCallOutputItem {
  const output = item['output'] as WireContent;
  const parts = (): readonly InputPart[] =>
    inputParts(output, `${where}.output`, 'the output of a function', ['input_text', 'input_image']);
  return {
    type: 'function_call_output',
    status: statusOf(item),
    call_id: item['call_id'] as string,
    output: typeof output === 'string' ? output : parts(),
  };
}

function reasoningOf(item: WireObject): ReasoningItem {
  const texts = (field: string): readonly { text: string }[] => given<readonly { text: string }[]>(item[field]) ?? [];
  const sealed = given<string>(item['encrypted_content']);
  return {
    type: 'reasoning',
    status: statusOf(item),
    summary: texts('summary').map(({ text }) => ({ type: 'summary_text', text })),
    content: texts('content').map(({ text }) => ({ type: 'reasoning_text', text })),
    ...(sealed === undefined ? {} : { encrypted_content: sealed }),
  };
}

function referenceOf(id: string, where: string, { conversation, referenced }: EarlierItems): ConversationItem {
  const item = conversation.find((candidate) => candidate.id === id) ?? referenced.get(id);
  if (item !== undefined) return item;
  const message = `${where}.id: no stored item is called ${JSON.stringify(id.slice(0, 64))}`;
  throw new InvalidTextRequest(`${where}.id`, message);
}

/** An output must answer a call that precedes it. */
function requireCalls(items: readonly UnnamedInputItem[], conversation: readonly ConversationItem[]): void {
  const called = new Set<string>();
  const note = (item: UnnamedInputItem): void => {
    if (item.type === 'function_call') called.add(item.call_id);
  };
  conversation.forEach(note);
  items.forEach((item, index) => {
    note(item);
    if (item.type !== 'function_call_output' || called.has(item.call_id)) return;
    const param = `input.${index}.call_id`;
    const shown = JSON.stringify(item.call_id.slice(0, 64));
    throw new InvalidTextRequest(param, `${param}: no function call before it has the call_id ${shown}`);
  });
}
