/**
 * What the SDKs have types for, as one JSON Schema with a definition for each name. The schemas are those that the
 * OpenAPI document is made from.
 */
import { ERROR_KINDS } from '@darkroom/api/facts/error-kinds';
import { TASK_STATUSES } from '@darkroom/api/facts/task-status';
import { BatchLineSchema, BatchResultSchema } from '@darkroom/api/openai/batch-lines';
import { BatchSchema } from '@darkroom/api/openai/batches';
import { OpenAiFileSchema } from '@darkroom/api/openai/files';
import { AccountSchema } from '@darkroom/api/tasks/account';
import { CreateTaskSchema } from '@darkroom/api/tasks/create-task';
import { EstimateSchema } from '@darkroom/api/tasks/estimate';
import { EventSchema, EventsSchema } from '@darkroom/api/tasks/event';
import { FileSchema } from '@darkroom/api/tasks/file';
import { ModelDetailSchema, ModelListSchema, ModelSchema } from '@darkroom/api/tasks/model';
import { OutputSchema, TaskSchema } from '@darkroom/api/tasks/task';
import { PricingSchema } from '@darkroom/api/tasks/pricing';
import { TextPricingSchema } from '@darkroom/api/tasks/text-pricing';
import { TaskListSchema } from '@darkroom/api/tasks/task-list';
import { CreateTokenSchema, TokenSchema, TokenScopeSchema } from '@darkroom/api/tasks/token';
import { ViolationSchema } from '@darkroom/api/tasks/violation';

export type JsonSchema = Readonly<Record<string, unknown>>;

/** Keywords whose value has schemas by the names of fields. */
const OF_SCHEMAS: ReadonlySet<string> = new Set(['properties', 'patternProperties']);

const ERROR_CODES = [...new Set(Object.values(ERROR_KINDS).map(({ errorCode }) => errorCode))];

/** By the names that they have in the SDKs. */
export const NAMED_SCHEMAS: Readonly<Record<string, object>> = {
  Account: AccountSchema,
  Batch: BatchSchema,
  BatchLine: BatchLineSchema,
  BatchResult: BatchResultSchema,
  ErrorCode: { type: 'string', enum: ERROR_CODES, description: 'The `error_code` of a rejected request.' },
  Estimate: EstimateSchema,
  FileObject: OpenAiFileSchema,
  Model: ModelSchema,
  ModelDetail: ModelDetailSchema,
  ModelList: ModelListSchema,
  Output: OutputSchema,
  Pricing: PricingSchema,
  Task: TaskSchema,
  TaskEvent: EventSchema,
  TaskEvents: EventsSchema,
  TaskPage: TaskListSchema,
  TaskRequest: CreateTaskSchema,
  TaskStatus: { type: 'string', enum: TASK_STATUSES, description: 'The status of a task.' },
  TextPricing: TextPricingSchema,
  Token: TokenSchema,
  TokenRequest: CreateTokenSchema,
  TokenScope: TokenScopeSchema,
  UploadedFile: FileSchema,
  Violation: ViolationSchema,
};

/** A schema with all of them as definitions, each of which refers to the others. */
export function namedSchemas(transform: (schema: JsonSchema) => JsonSchema = (schema) => schema): JsonSchema {
  const names = new Map<unknown, string>(Object.entries(NAMED_SCHEMAS).map(([name, schema]) => [schema, name]));
  const membersOf = (node: object): JsonSchema =>
    Object.fromEntries(Object.entries(node).map(([name, value]) => [name, copy(value, OF_SCHEMAS.has(name))]));
  /** @param isMap whether its members are schemas by the names of fields, and no keywords. */
  const copy = (node: unknown, isMap = false): unknown => {
    if (typeof node !== 'object' || node === null) return node;
    if (Array.isArray(node)) return node.map((member) => copy(member));
    if (isMap) return Object.fromEntries(Object.entries(node).map(([name, value]) => [name, copy(value)]));
    const name = names.get(node);
    return name === undefined ? transform(membersOf(node)) : { $ref: `#/$defs/${name}` };
  };
  const definitions = Object.entries(NAMED_SCHEMAS).map(([name, schema]) => [name, transform(membersOf(schema))]);
  return { $schema: 'https://json-schema.org/draft/2020-12/schema', $defs: Object.fromEntries(definitions) };
}
