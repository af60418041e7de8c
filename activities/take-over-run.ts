/** Checks whether an earlier run had ended the task (src/generation/earlier-work.ts). */
import { findDecision } from '../src/generation/earlier-work.ts';
import type { Activities } from '../workflows/contracts.ts';
import type { ActivityContext } from './context.ts';

export function createTakeOverRun(context: ActivityContext): Activities['takeOverRun'] {
  return async (input) => {
    const decided = await findDecision(context, input);
    return decided === undefined ? {} : { decided };
  };
}
