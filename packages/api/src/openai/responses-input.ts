/**
 * The items that the input of `POST /responses` consists of (contract §9: OpenAI's `InputItem`, Open Responses'
 * `ItemParam`), as a schema. Which fields an item has depends on its `type`; fields not described here are accepted,
 * because clients send back the items that they received, with all their content.
 */
import { Type } from 'typebox';

type Schema = Readonly<Record<string, unknown>>;

const MAX_ID = 256;
const MAX_MEMBERS = 10_000;
const MAX_TEXT = 10_485_760;

const Text: Schema = { type: 'string', maxLength: MAX_TEXT };
const Id: Schema = { type: ['string', 'null'], minLength: 1, maxLength: MAX_ID };
const CallId: Schema = { type: 'string', minLength: 1, maxLength: MAX_ID };
const Status: Schema = { type: ['string', 'null'], enum: ['in_progress', 'completed', 'incomplete', null] };

/** An object whose further form depends on its `type`. */
function byType(forms: Readonly<Record<string, Schema>>): Schema {
  return {
    type: 'object',
    required: ['type'],
    properties: { type: { type: 'string', maxLength: MAX_ID } },
    ...firstOf(Object.entries(forms).map(([type, form]) => whereTypeIs(type, form))),
  };
}

/**
 * The first of some conditional forms whose condition a value meets, as a chain: what generates requests from a schema
 * cannot read eight conditions side by side.
 */
function firstOf([first, ...others]: readonly Schema[]): Schema {
  return others.length === 0 ? { ...first } : { ...first, else: firstOf(others) };
}

function whereTypeIs(type: string, form: Schema): Schema {
  return when({ type: 'object', required: ['type'], properties: { type: { const: type } } }, form);
}

/** Applies a form to every value that meets a condition. */
export function when(condition: Schema, form: Schema): Schema {
  // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
  return { if: condition, then: form };
}

function form(required: readonly string[], properties: Schema): Schema {
  return { type: 'object', required, properties };
}

/**
 * A part of a message or of a tool's output. Parts of other types are rejected where their position in the item is
 * known.
 */
const PartSchema = byType({
  input_text: form(['text'], { text: Text }),
  output_text: form(['text'], { text: Text }),
  refusal: form(['refusal'], { refusal: Text }),
  input_image: form([], {
    image_url: { type: ['string', 'null'] },
    file_id: { type: ['string', 'null'] },
    detail: { type: ['string', 'null'] },
  }),
});

const Content: Schema = { type: ['string', 'array'], maxLength: MAX_TEXT, maxItems: MAX_MEMBERS, items: PartSchema };

const MessageForm = form(['role', 'content'], {
  role: { type: 'string', enum: ['user', 'assistant', 'system', 'developer'] },
  content: Content,
  status: Status,
});

const FunctionCallForm = form(['call_id', 'name', 'arguments'], {
  call_id: CallId,
  name: { type: 'string', minLength: 1, maxLength: MAX_ID },
  arguments: Text,
  status: Status,
});

const FunctionCallOutputForm = form(['call_id', 'output'], { call_id: CallId, output: Content, status: Status });

const ReasoningTexts: Schema = {
  type: ['array', 'null'],
  maxItems: MAX_MEMBERS,
  items: form(['type', 'text'], { type: { type: 'string' }, text: Text }),
};

const ReasoningForm = form([], {
  summary: ReasoningTexts,
  content: ReasoningTexts,
  encrypted_content: { type: ['string', 'null'], maxLength: MAX_TEXT },
  status: Status,
});

/** `result` is the image in base64, which the model is given if it takes images. */
const ImageCallForm = form([], {
  status: { type: ['string', 'null'], enum: ['in_progress', 'generating', 'completed', 'failed', null] },
  result: { type: ['string', 'null'] },
  revised_prompt: { type: ['string', 'null'], maxLength: MAX_TEXT },
});

/** A message may omit its `type`, and so may a reference. */
const ItemSchema: Schema = {
  type: 'object',
  properties: { type: { type: ['string', 'null'], maxLength: MAX_ID }, id: Id },
  ...firstOf([
    whereTypeIs('message', MessageForm),
    when({ type: 'object', required: ['role'], properties: { type: { type: 'null' }, role: {} } }, MessageForm),
    whereTypeIs('function_call', FunctionCallForm),
    whereTypeIs('function_call_output', FunctionCallOutputForm),
    whereTypeIs('reasoning', ReasoningForm),
    whereTypeIs('image_generation_call', ImageCallForm),
    whereTypeIs('compaction', form(['encrypted_content'], { encrypted_content: Text })),
    whereTypeIs('item_reference', form(['id'], { id: CallId })),
  ]),
};

/** A string, which is a message of the user, or a list of items. */
export const InputSchema = Type.Unsafe<string | readonly Readonly<Record<string, unknown>>[] | null>({
  type: ['string', 'array', 'null'],
  maxLength: MAX_TEXT,
  maxItems: MAX_MEMBERS,
  items: ItemSchema,
  description:
    'A string, which is a message of the user, or a list of items: messages, function calls and their outputs, reasoning, generated images, and item references.',
});
