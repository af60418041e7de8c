/** Stores the key or the URL of a provider, or removes what is stored. */
import { Anchor, Button, Group, PasswordInput, Stack, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import type { FormEvent } from 'react';
import { useResetProvider, useSetProvider } from '../../api/admin.ts';
import type { Provider } from '../../api/admin.ts';
import { BusyButton } from '../../components/busy-button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { notify } from '../../components/notify.ts';
import { ErrorState } from '../../components/states.tsx';
import { texts } from '../../texts/admin-service.ts';
import { texts as common } from '../../texts/common.ts';

const { providers: words } = texts;

export function ProviderDialog({ provider, onClose }: { readonly provider: Provider; readonly onClose: () => void }) {
  const { name, title, keys, credential, baseUrl } = provider;
  const [key, setKey] = useState('');
  const [url, setUrl] = useState('');
  const [isTried, setTried] = useState(false);
  const set = useSetProvider(name);
  const reset = useResetProvider(name);
  const isEmpty = key.trim() === '' && url.trim() === '';
  const isStored = credential.source === 'stored' || baseUrl.source === 'stored';
  const close = (message: string): void => {
    notify(message);
    onClose();
  };

  const submit = (event: FormEvent): void => {
    event.preventDefault();
    setTried(true);
    if (isEmpty) return;
    set.mutate(
      {
        ...(key.trim() === '' ? {} : { credential: key.trim() }),
        ...(url.trim() === '' ? {} : { baseUrl: url.trim() }),
      },
      { onSuccess: () => close(words.stored(title)) },
    );
  };
  const error = set.error ?? reset.error;
  return (
    <Dialog isOpen title={title} onClose={onClose}>
      <form onSubmit={submit} noValidate>
        <Stack>
          <Text size="sm">
            {words.hint}{' '}
            {keys === null ? null : (
              <Anchor href={keys} target="_blank" rel="noreferrer" size="sm">
                {words.keysLink}
              </Anchor>
            )}
          </Text>
          {credential.need === 'none' ? null : (
            <PasswordInput
              label={words.key}
              description={credential.source === null ? undefined : words.keySet[credential.source]}
              value={key}
              onChange={({ currentTarget }) => setKey(currentTarget.value)}
              error={isTried && isEmpty ? words.empty : undefined}
              autoComplete="off"
              spellCheck={false}
              data-autofocus
            />
          )}
          <TextInput
            label={words.url}
            description={words.urlHint}
            placeholder={baseUrl.url ?? 'http://10.0.0.7:8188'}
            value={url}
            onChange={({ currentTarget }) => setUrl(currentTarget.value)}
            error={isTried && isEmpty && credential.need === 'none' ? words.empty : undefined}
            spellCheck={false}
          />
          {error === null ? null : <ErrorState error={error} />}
          <Group justify="flex-end">
            {isStored ? (
              <BusyButton
                variant="default"
                isBusy={reset.isPending}
                onClick={() => reset.mutate(undefined, { onSuccess: () => close(words.removed(title)) })}
              >
                {words.remove}
              </BusyButton>
            ) : null}
            <Button variant="default" onClick={onClose}>
              {common.cancel}
            </Button>
            <BusyButton type="submit" isBusy={set.isPending}>
              {words.submit}
            </BusyButton>
          </Group>
        </Stack>
      </form>
    </Dialog>
  );
}
