/**
 * The body of `POST /tasks` (spec §2.1, contract §2). `model`, `input`, `callback` and `route` are the specification's;
 * `storage` names its unnamed tier parameter; `metadata`, `maxCost` and `timeoutSeconds` are additive.
 */
import { Type } from 'typebox';

export const CreateTaskSchema = Type.Object(
  {
    model: Type.String({ minLength: 1, maxLength: 300 }),
    input: Type.Record(Type.String(), Type.Unknown()),
    callback: Type.Optional(
      Type.Object(
        {
          url: Type.String({ minLength: 1, maxLength: 2048 }),
          when: Type.Optional(Type.Unsafe<'final'>({ type: 'string', enum: ['final'] })),
        },
        { additionalProperties: false },
      ),
    ),
    route: Type.Optional(Type.String({ maxLength: 64 })),
    storage: Type.Optional(Type.Unsafe<'temp' | 'persistent'>({ type: 'string', enum: ['temp', 'persistent'] })),
    metadata: Type.Optional(
      // Not Type.Record: it keeps nothing of the key's bounds and lets a name with a line end hold any value.
      Type.Unsafe<Record<string, string>>({
        type: 'object',
        maxProperties: 16,
        propertyNames: { type: 'string', minLength: 1, maxLength: 64 },
        additionalProperties: { type: 'string', maxLength: 512 },
      }),
    ),
    maxCost: Type.Optional(Type.String({ pattern: '^[0-9]{1,12}(\\.[0-9]{1,6})?$' })),
    timeoutSeconds: Type.Optional(Type.Integer({ minimum: 1, maximum: 604_800 })),
  },
  { additionalProperties: false },
);

/** The `data` of the answer (spec §2.2). */
export const CreatedTaskSchema = Type.Object(
  { taskId: Type.String({ pattern: '^tk-svc-[0-9A-HJKMNP-TV-Z]{26}$' }) },
  { additionalProperties: false },
);
