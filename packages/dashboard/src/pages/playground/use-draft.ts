/** A run that is being prepared: the input as the form has it, the route, and how the result is stored. */
import { useState } from 'react';
import type { ModelDetail } from '../../api/models.ts';
import type { TaskRequest } from '../../api/task-request.ts';
import { readMemory, writeMemory } from '../../session/memory.ts';
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
  /** The request that would be sent. */
  readonly request: TaskRequest;
  readonly change: (part: Partial<Draft>) => void;
  /** Replaces the draft: missing fields get their defaults. */
  readonly replace: (draft: Draft) => void;
}

const DEFAULT_ROUTE = 'default';

/** A draft is kept while other pages are open. @param prefill takes precedence over the previous draft. */
export function useDraft(model: ModelDetail, prefill: Draft | undefined): DraftState {
  const name = `playground draft ${model.id}`;
  const schema = model.input_schema as Schema;
  const whole = (draft: Draft): Draft => ({ ...draft, input: { ...defaultsOf(schema), ...draft.input } });
  const [draft, setDraft] = useState<Draft>(() => whole(prefill ?? readMemory<Draft>(name) ?? { input: {} }));
  const set = (next: Draft): void => {
    writeMemory(name, next);
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
    change: (part) => set({ ...draft, ...part }),
    replace: (next) => set(whole(next)),
  };
}
