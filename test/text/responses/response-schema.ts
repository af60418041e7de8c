/**
 * The schema of a response object, transcribed from OpenAI's document (openai-openapi 2.3.0, August 2026: `Response`
 * and what it refers to) and from Open Responses' `ResponseResource`, which requires more. Where the two contradict
 * each other, OpenAI's applies (contract §9).
 */
import { Ajv2020 } from 'ajv/dist/2020.js';

const anyOf = (...forms: readonly object[]): object => ({ anyOf: forms });
const nullable = (form: object): object => anyOf(form, { type: 'null' });
const string = { type: 'string' };
const integer = { type: 'integer' };
const number = { type: 'number' };
const boolean = { type: 'boolean' };

function exact(required: Readonly<Record<string, object>>, optional: Readonly<Record<string, object>> = {}): object {
  return {
    type: 'object',
    properties: { ...required, ...optional },
    required: Object.keys(required),
    additionalProperties: false,
  };
}

const list = (items: object): object => ({ type: 'array', items });
const words = (...values: readonly string[]): object => ({ type: 'string', enum: values });

const tokenLogprob = { token: string, logprob: number, bytes: list(integer) };
const status = words('in_progress', 'completed', 'incomplete');
const outputText = exact({
  type: { const: 'output_text' },
  text: string,
  annotations: list({}),
  logprobs: list(exact({ ...tokenLogprob, top_logprobs: list(exact(tokenLogprob)) })),
});
const refusalPart = exact({ type: { const: 'refusal' }, refusal: string });

const item = anyOf(
  exact({
    id: { type: 'string', pattern: '^msg_' },
    type: { const: 'message' },
    status,
    role: { const: 'assistant' },
    content: list(anyOf(outputText, refusalPart)),
  }),
  exact(
    {
      id: { type: 'string', pattern: '^rs_' },
      type: { const: 'reasoning' },
      status,
      summary: list(exact({ type: { const: 'summary_text' }, text: string })),
    },
    { content: list(exact({ type: { const: 'reasoning_text' }, text: string })), encrypted_content: string },
  ),
  exact({
    id: { type: 'string', pattern: '^fc_' },
    type: { const: 'function_call' },
    status,
    call_id: string,
    name: string,
    arguments: string,
  }),
);

const tool = exact({
  type: { const: 'function' },
  name: string,
  description: nullable(string),
  parameters: nullable({ type: 'object' }),
  strict: nullable(boolean),
});

const named = exact({ type: { const: 'function' }, name: string });

const response = exact(
  {
    id: { type: 'string', pattern: '^resp_' },
    object: { const: 'response' },
    created_at: integer,
    status: words('in_progress', 'completed', 'incomplete', 'failed'),
    completed_at: nullable(integer),
    background: { const: false },
    error: nullable(exact({ code: words('server_error', 'rate_limit_exceeded', 'invalid_prompt'), message: string })),
    incomplete_details: nullable(exact({ reason: words('max_output_tokens', 'content_filter') })),
    instructions: nullable(string),
    max_output_tokens: nullable(integer),
    max_tool_calls: nullable(integer),
    model: string,
    output: list(item),
    parallel_tool_calls: boolean,
    previous_response_id: nullable(string),
    prompt_cache_key: nullable(string),
    reasoning: exact({
      effort: nullable(words('none', 'minimal', 'low', 'medium', 'high', 'xhigh')),
      summary: nullable(words('auto', 'concise', 'detailed')),
    }),
    safety_identifier: nullable(string),
    service_tier: { const: 'default' },
    store: boolean,
    temperature: number,
    top_p: number,
    presence_penalty: number,
    frequency_penalty: number,
    top_logprobs: integer,
    text: exact(
      {
        format: anyOf(
          exact({ type: words('text', 'json_object') }),
          exact(
            { type: { const: 'json_schema' }, name: string, schema: { type: 'object' }, strict: boolean },
            { description: string },
          ),
        ),
      },
      { verbosity: words('low', 'medium', 'high') },
    ),
    tool_choice: anyOf(
      words('auto', 'none', 'required'),
      named,
      exact({ type: { const: 'allowed_tools' }, mode: words('auto', 'required', 'none'), tools: list(named) }),
    ),
    tools: list(tool),
    truncation: words('auto', 'disabled'),
    metadata: { type: 'object', additionalProperties: string },
    usage: nullable(
      exact({
        input_tokens: integer,
        input_tokens_details: exact({ cached_tokens: integer, cache_write_tokens: integer }),
        output_tokens: integer,
        output_tokens_details: exact({ reasoning_tokens: integer }),
        total_tokens: integer,
      }),
    ),
  },
  { user: string, prompt_cache_retention: words('in_memory', '24h') },
);

const validate = new Ajv2020({ strict: false }).compile(response);

/** What is wrong with a response object; undefined: nothing. */
export function responseProblem(value: unknown): string | undefined {
  return validate(value) ? undefined : JSON.stringify(validate.errors, undefined, 1);
}
