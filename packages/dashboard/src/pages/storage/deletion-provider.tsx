/** Keeps deletions that can be undone, with their notice, above all pages of the dashboard. */
import type { ReactNode } from 'react';
import { notifyError } from '../../components/notify.ts';
import { texts } from '../../texts/storage.ts';
import { DeletionContext, useNewDeletion } from './deletion.ts';
import { notifyDecision } from './rejections.tsx';
import { UndoNotice } from './undo-notice.tsx';

export function DeletionProvider({ children }: { readonly children: ReactNode }) {
  const deletion = useNewDeletion({
    onDone: (outputs, decision) =>
      notifyDecision(outputs, decision, { done: texts.deletedDone, rejected: texts.deletionRejected }),
    onFailed: (error) => notifyError({ title: texts.deletionFailed, message: error.message }),
  });
  return (
    <DeletionContext value={deletion}>
      {children}
      <UndoNotice deletion={deletion} />
    </DeletionContext>
  );
}
