/** The conversation of a chat request: what each role may say, and in which parts. */
import { given, isImageUrl } from '../parameters.ts';
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
  const name = given<string>(message.name);
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
      return { role: 'user', content: partsOf(message, where, ['text', 'image_url']), ...named };
    default:
      return { role: message.role, content: partsOf(message, where, ['text']), ...named };
  }
}

function assistantMessage(message: WireMessage, where: string, named: { readonly name?: string }): Message {
  const toolCalls: readonly ToolCall[] = (given<NonNullable<WireMessage['tool_calls']>>(message.tool_calls) ?? []).map(
    ({ id, function: { name, arguments: text } }) => ({ id, name, arguments: text }),
  );
  const refusal = given<string>(message.refusal);
  const hasContent = given(message.content) !== undefined;
  if (!hasContent && toolCalls.length === 0 && refusal === undefined) {
    throw new InvalidTextRequest(
      `${where}.content`,
      `${where}: an assistant message has content, a refusal or tool_calls`,
    );
  }
  const content = hasContent ? partsOf(message, where, ['text', 'refusal']) : [];
  const reasoning = given<string>(message.reasoning) ?? given<string>(message.reasoning_content);
  return {
    role: 'assistant',
    content: refusal === undefined ? content : [...content, { type: 'refusal', refusal }],
    toolCalls,
    ...(reasoning === undefined ? {} : { reasoning }),
    ...named,
  };
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
  if (part.type === 'image_url') return imageOf(part['image_url'], where);
  const field = part.type;
  const value = part[field];
  if (typeof value !== 'string')
    throw new InvalidTextRequest(`${where}.${field}`, `${where}.${field}: want a string`, 'invalid_type');
  return part.type === 'text' ? { type: 'text', text: value } : { type: 'refusal', refusal: value };
}

function imageOf(value: unknown, where: string): ContentPart {
  const { url, detail } = (typeof value === 'object' && value !== null ? value : {}) as Record<string, unknown>;
  const field = `${where}.image_url`;
  if (typeof url !== 'string')
    throw new InvalidTextRequest(`${field}.url`, `${field}.url: want a string`, 'invalid_type');
  if (!isImageUrl(url)) {
    const message = `${field}.url: want an https URL or data:image/…;base64,…`;
    throw new InvalidTextRequest(`${field}.url`, message, 'invalid_image_url');
  }
  if (given(detail) === undefined) return { type: 'image', url };
  if (detail !== 'auto' && detail !== 'low' && detail !== 'high') {
    throw new InvalidTextRequest(`${field}.detail`, `${field}.detail: want one of auto, low, high`);
  }
  return { type: 'image', url, detail };
}
