/**
 * Records a payment. Each dialog has its own reference from the start, so that a payment whose answer was lost can be
 * sent again: the service records a reference once.
 */
import { Alert, Button, Group, Stack, TextInput } from '@mantine/core';
import { BusyButton } from '../../components/busy-button.tsx';
import { useState } from 'react';
import type { FormEvent } from 'react';
import { useTopUp } from '../../api/admin.ts';
import type { Account } from '../../api/admin.ts';
import { ApiError, isOutcomeUnknown } from '../../api/api.ts';
import { Dialog } from '../../components/dialog.tsx';
import { formatUsd } from '../../components/money.ts';
import { ErrorState } from '../../components/states.tsx';
import { notify } from '../../components/notify.ts';
import { texts } from '../../texts/admin.ts';
import { texts as common } from '../../texts/common.ts';
import { isAmount, newReference, readAmount } from './amounts.ts';

const { topUp: words } = texts;
const REFERENCE = /^[!-~]{1,200}$/;

export function TopUpDialog({ account, onClose }: { readonly account: Account; readonly onClose: () => void }) {
  const [usd, setUsd] = useState('');
  const [reference, setReference] = useState(newReference);
  const [isTried, setTried] = useState(false);
  /** A payment that was sent and not answered: it may have been recorded. */
  const [lost, setLost] = useState<{ readonly usd: string; readonly reference: string }>();
  const topUp = useTopUp(account.accountId);
  const amount = readAmount(usd);
  const named = reference.trim();

  const submit = (event: FormEvent): void => {
    event.preventDefault();
    setTried(true);
    if (!isAmount(amount) || !REFERENCE.test(named)) return;
    topUp.mutate(
      { usd: amount, reference: named },
      {
        onSuccess() {
          notify(words.done(formatUsd(amount), account.name));
          onClose();
        },
        onError(error) {
          if (isOutcomeUnknown(error)) {
            setLost({ usd: amount, reference: named });
          } else if (lost?.reference === named && lost.usd === amount && isUsedReference(error)) {
            notify(words.doneBefore);
            onClose();
          }
        },
      },
    );
  };
  return (
    <Dialog isOpen title={words.title(account.name)} onClose={onClose}>
      <form onSubmit={submit} noValidate>
        <Stack>
          <TextInput
            label={words.amount}
            leftSection="$"
            inputMode="decimal"
            value={usd}
            onChange={({ currentTarget }) => setUsd(currentTarget.value)}
            error={isTried && !isAmount(amount) ? texts.badAmount : undefined}
            readOnly={lost !== undefined}
            required
            data-autofocus
          />
          <TextInput
            label={words.reference}
            description={words.referenceHint}
            value={reference}
            onChange={({ currentTarget }) => setReference(currentTarget.value)}
            error={isTried && !REFERENCE.test(named) ? words.badReference : undefined}
            readOnly={lost !== undefined}
            maxLength={200}
            spellCheck={false}
            ff="monospace"
          />
          {topUp.error === null ? null : <ErrorState error={topUp.error} />}
          {lost === undefined ? null : (
            <Alert color="yellow" role="status">
              {words.lost}
            </Alert>
          )}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              {common.cancel}
            </Button>
            <BusyButton type="submit" isBusy={topUp.isPending}>
              {words.submit}
            </BusyButton>
          </Group>
        </Stack>
      </form>
    </Dialog>
  );
}

function isUsedReference(error: Error): boolean {
  return (
    error instanceof ApiError &&
    error.violations.some(({ field, keyword }) => field === 'reference' && keyword === 'unique')
  );
}
