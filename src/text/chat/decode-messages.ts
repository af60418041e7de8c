/** The conversation of a chat request: what each role may say, and in which parts. */
import { addressOfFile } from '../images.ts';
import { given, isFileReference, readImageUrl } from '../parameters.ts';
import type { ContentPart, Message, ToolCall } from '../request.ts';
import { InvalidTextRequest } from '../text-failure.ts';

/** A message with a valid outer form. */
export interface WireMessage {
  readonly role: 'developer' | 'system' | 'user' | 'assistant' | 'tool';
  readonly content?: string | readonly WirePart[] | null;
  readonly name?: string | null;
  readonly tool_calls?: readonly { id: string; function: { name: string; arguments: string } }[] | null;
  readonly tool_call_id?: string;
  readonly refusal?: string | null;
  readonly reasoning?: string | null;
  readonly reasoning_content?: string | null;
}

type WirePart = Readonly<Record<string, unknown>> & { readonly type: string };

/** @throws {InvalidTextRequest} */
export function decodeMessages(messages: readonly WireMessage[]): readonly Message[] {
  const called = new Set<string>();
  return messages.map((message, index) => {
    const where = `messages.${index}`;
    const decoded = messageOf(message, where);
    if (decoded.role === 'assistant') for (const { id } of decoded.toolCalls) called.add(id);
    if (decoded.role === 'tool' && !called.has(decoded.toolCallId)) {
      const wanted = JSON.stringify(decoded.toolCallId.slice(0, 64));
      const message = `${where}.tool_call_id: no assistant message before it has a tool call ${wanted}`;
      throw new InvalidTextRequest(`${where}.tool_call_id`, message);
    }
    return decoded;
  });
}

function messageOf(message: WireMessage, where: string): Message {
  const name = notEmpty(message.name);
  const named = name === undefined ? {} : { name };
  const rejectField = (field: string): void => {
    throw new InvalidTextRequest(`${where}.${field}`, `${where}.${field}: not in a message of role ${message.role}`);
  };
  if (message.role !== 'assistant' && given(message.tool_calls) !== undefined) rejectField('tool_calls');
  if (message.role !== 'tool' && message.tool_call_id !== undefined) rejectField('tool_call_id');
  switch (message.role) {
    case 'assistant':
      return assistantMessage(message, where, named);
    case 'tool': {
      if (message.tool_call_id === undefined) {
        const missing = `${where}.tool_call_id`;
        throw new InvalidTextRequest(
          missing,
          `invalid request: missing property: ${missing}`,
          'missing_required_parameter',
        );
      }
      return { role: 'tool', toolCallId: message.tool_call_id, content: partsOf(message, where, ['text']) };
    }
    case 'user':
      return { role: 'user', content: partsOf(message, where, ['text', 'image_url', 'input_image']), ...named };
    default:
      return { role: message.role, content: partsOf(message, where, ['text']), ...named };
  }
}

function assistantMessage(message: WireMessage, where: string, named: { readonly name?: string }): Message {
  const toolCalls: readonly ToolCall[] = (given<NonNullable<WireMessage['tool_calls']>>(message.tool_calls) ?? []).map(
    ({ id, function: { name, arguments: text } }) => ({ id, name, arguments: text }),
  );
  const refusal = notEmpty(message.refusal);
  const hasContent = given(message.content) !== undefined;
  if (!hasContent && toolCalls.length === 0 && refusal === undefined) {
    throw new InvalidTextRequest(
      `${where}.content`,
      `${where}: an assistant message has content, a refusal or tool_calls`,
    );
  }
  const content = hasContent ? partsOf(message, where, ['text', 'refusal']) : [];
  const reasoning = notEmpty(message.reasoning) ?? notEmpty(message.reasoning_content);
  return {
    role: 'assistant',
    content: refusal === undefined ? content : [...content, { type: 'refusal', refusal }],
    toolCalls,
    ...(reasoning === undefined ? {} : { reasoning }),
    ...named,
  };
}

/** Unlike a content, no name, refusal or reasoning is empty: some clients send all fields that they have. */
function notEmpty(text: string | null | undefined): string | undefined {
  return given<string>(text) || undefined;
}

/** @param allowed the types of parts that such a message may have. */
function partsOf(message: WireMessage, where: string, allowed: readonly string[]): readonly ContentPart[] {
  const content = given<string | readonly WirePart[]>(message.content);
  if (content === undefined) {
    const missing = `${where}.content`;
    throw new InvalidTextRequest(
      missing,
      `invalid request: missing property: ${missing}`,
      'missing_required_parameter',
    );
  }
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return content.map((part, index) => partOf(part, `${where}.content.${index}`, message.role, allowed));
}

function partOf(part: WirePart, where: string, role: string, allowed: readonly string[]): ContentPart {
  if (!allowed.includes(part.type)) {
    const shown = JSON.stringify(part.type.slice(0, 64));
    const message = `${where}.type: got ${shown}, and a message of role ${role} has parts of type ${allowed.join(' or ')}`;
    throw new InvalidTextRequest(`${where}.type`, message, 'unsupported_value');
  }
  if (part.type === 'image_url') {
    const value = part['image_url'];
    const { url, file_id, detail } = (typeof value === 'object' && value !== null ? value : {}) as Members;
    return imageOf({ url, fileId: file_id, detail }, `${where}.image_url`, 'url');
  }
  // The part of responses, with which a file is referred to.
  if (part.type === 'input_image') {
    return imageOf({ url: part['image_url'], fileId: part['file_id'], detail: part['detail'] }, where, 'image_url');
  }
  const field = part.type;
  const value = part[field];
  if (typeof value !== 'string')
    throw new InvalidTextRequest(`${where}.${field}`, `${where}.${field}: want a string`, 'invalid_type');
  return part.type === 'text' ? { type: 'text', text: value } : { type: 'refusal', refusal: value };
}

type Members = Readonly<Record<string, unknown>>;

/** @param field of the image. @param urlMember its member with the URL. */
function imageOf(
  image: { readonly url: unknown; readonly fileId: unknown; readonly detail: unknown },
  field: string,
  urlMember: string,
): ContentPart {
  const url = urlOf(image, field, urlMember);
  const detail = given(image.detail);
  if (detail === undefined || detail === '') return { type: 'image', url };
  if (detail !== 'auto' && detail !== 'low' && detail !== 'high') {
    throw new InvalidTextRequest(`${field}.detail`, `${field}.detail: want one of auto, low, high`);
  }
  return { type: 'image', url, detail };
}

function urlOf(
  { url, fileId }: { readonly url: unknown; readonly fileId: unknown },
  field: string,
  urlMember: string,
): string {
  const isOfFile = given(fileId) !== undefined && fileId !== '';
  if (isOfFile && given(url) !== undefined && url !== '') {
    throw new InvalidTextRequest(`${field}.file_id`, `${field}: has file_id and ${urlMember}; send only one`);
  }
  const member = `${field}.${isOfFile ? 'file_id' : urlMember}`;
  const value = isOfFile ? fileId : url;
  if (typeof value !== 'string') throw new InvalidTextRequest(member, `${member}: want a string`, 'invalid_type');
  if (isOfFile && isFileReference(value)) return addressOfFile(value);
  if (isOfFile) throw new InvalidTextRequest(member, `${member}: want the id of a file`);
  const read = readImageUrl(value);
  if (read !== undefined) return read;
  const message = `${member}: want an https URL or data:image/…;base64,… of an image that is not HEIC`;
  throw new InvalidTextRequest(member, message, 'invalid_image_url');
}
