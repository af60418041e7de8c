/** What somebody is about to run: the input as the form has it, the route, and how the result is kept. */
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { ModelDetail } from '../../api/models.ts';
import type { TaskRequest } from '../../api/task-request.ts';
import type { Schema } from '../models/schema-rows.ts';
import { defaultsOf, sentInput } from './input-data.ts';
import type { Input } from './input-data.ts';

export interface Draft {
  readonly input: Input;
  readonly route?: string;
  readonly storage?: 'temp' | 'persistent';
}

export interface DraftState {
  readonly draft: Draft;
  /** What would be sent. */
  readonly request: TaskRequest;
  readonly change: (part: Partial<Draft>) => void;
  /** Another one from the start: fields that it lacks have their defaults. */
  readonly replace: (draft: Draft) => void;
}

const DEFAULT_ROUTE = 'default';

/** A draft lasts while other pages are looked at. @param prefill counts more than what was there. */
export function useDraft(model: ModelDetail, prefill: Draft | undefined): DraftState {
  const client = useQueryClient();
  const queryKey = ['playground', 'draft', model.id];
  const schema = model.input_schema as Schema;
  const whole = (draft: Draft): Draft => ({ ...draft, input: { ...defaultsOf(schema), ...draft.input } });
  const [draft, setDraft] = useState<Draft>(() =>
    whole(prefill ?? client.getQueryData<Draft>(queryKey) ?? { input: {} }),
  );
  const keep = (next: Draft): void => {
    client.setQueryData(queryKey, next);
    setDraft(next);
  };
  const { route = DEFAULT_ROUTE, storage = 'temp' } = draft;
  return {
    draft,
    request: {
      model: model.id,
      input: sentInput(schema, draft.input),
      ...(route === DEFAULT_ROUTE ? {} : { route }),
      ...(storage === 'temp' ? {} : { storage }),
    },
    change: (part) => keep({ ...draft, ...part }),
    replace: (next) => keep(whole(next)),
  };
}
