/**
 * A task's timeline as its owner sees it (contract §4): a list, or a stream of server-sent events whose `data` is one
 * event of that list.
 */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import type { EventDetail } from '../facts/event-detail.ts';
import { MAX_EVENTS_PER_PAGE } from '../facts/limits.ts';

export const EventSchema = Type.Object(
  {
    seq: Type.Integer({
      minimum: 1,
      description: 'The sequence number of the event within the task: 1 for the first event, without gaps.',
    }),
    at: Type.Integer({ minimum: 0, description: 'Unix seconds.' }),
    type: Type.String({
      maxLength: 64,
      description:
        'The type of the event: `accepted`, `started`, `provider_refused`, `submitted`, `produced`, `archiving`, `archived`, `settled`, `cancel_requested`, `callback_attempted`, `callback_redelivery` and others. More types may be added. `settled`: the task has ended.',
    }),
    detail: Type.Unsafe<EventDetail>({
      type: 'object',
      maxProperties: 16,
      additionalProperties: { type: ['string', 'number', 'boolean'] },
      description: 'Details that depend on the type. Empty if there are none.',
    }),
  },
  { additionalProperties: false },
);

/** The `data` of `GET /tasks/{taskId}/events`. */
export const EventsSchema = Type.Object(
  { events: Type.Array(EventSchema, { maxItems: MAX_EVENTS_PER_PAGE, description: 'The events, oldest first.' }) },
  { additionalProperties: false },
);

export type WireEvent = Static<typeof EventSchema>;
