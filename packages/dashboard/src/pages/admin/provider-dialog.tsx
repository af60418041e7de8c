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

/**
 * What is set for a provider. A server that its users run has no URL of its own: it is set first, or alone if the server
 * needs no key.
 */
export function settingsOf({ credential: { need }, missing, baseUrl }: Provider): 'key' | 'url' | 'both' {
  if (need !== 'required') return 'url';
  return missing === 'base_url' || baseUrl.url === null ? 'both' : 'key';
}

export function ProviderDialog({ provider, onClose }: { readonly provider: Provider; readonly onClose: () => void }) {
  const { name, title, keys, credential, baseUrl } = provider;
  const settings = settingsOf(provider);
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
  const keyField =
    credential.need === 'none' ? null : (
      <PasswordInput
        label={settings === 'url' ? words.optionalKey : words.key}
        description={credential.source === null ? undefined : words.keySet[credential.source]}
        value={key}
        onChange={({ currentTarget }) => setKey(currentTarget.value)}
        error={isTried && isEmpty && settings !== 'url' ? words.empty[settings] : undefined}
        autoComplete="off"
        spellCheck={false}
        data-autofocus={settings === 'key' || undefined}
      />
    );
  const urlField = (
    <TextInput
      label={words.url}
      description={baseUrl.source === 'environment' ? words.urlSet : words.urlHint[settings]}
      placeholder={baseUrl.url ?? 'http://10.0.0.7:8188'}
      value={url}
      onChange={({ currentTarget }) => setUrl(currentTarget.value)}
      error={isTried && isEmpty && settings !== 'key' ? words.empty[settings] : undefined}
      spellCheck={false}
      data-autofocus={settings !== 'key' || undefined}
    />
  );
  return (
    <Dialog isOpen title={title} onClose={onClose}>
      <form onSubmit={submit} noValidate>
        <Stack>
          <Text size="sm">
            {words.hint[settings]}{' '}
            {keys === null ? null : (
              <Anchor href={keys} target="_blank" rel="noreferrer" size="sm">
                {words.keysLink}
              </Anchor>
            )}
          </Text>
          {settings === 'key' ? keyField : urlField}
          {settings === 'key' ? urlField : keyField}
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
