/** Keeps deletions that can be undone, with their notice, above all pages of the dashboard. */
import type { ReactNode } from 'react';
import { tellProblem } from '../../components/tell.ts';
import { texts } from '../../texts/storage.ts';
import { DeletionContext, useNewDeletion } from './deletion.ts';
import { tellDecision } from './refusals.tsx';
import { UndoNotice } from './undo-notice.tsx';

export function DeletionProvider({ children }: { readonly children: ReactNode }) {
  const deletion = useNewDeletion({
    onDone: (outputs, decision) =>
      tellDecision(outputs, decision, { done: texts.deletedDone, refused: texts.deletionRefused }),
    onFailed: (error) => tellProblem({ title: texts.deletionFailed, message: error.message }),
  });
  return (
    <DeletionContext value={deletion}>
      {children}
      <UndoNotice deletion={deletion} />
    </DeletionContext>
  );
}
