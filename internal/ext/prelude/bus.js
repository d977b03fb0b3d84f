// The event bus that extensions share: channels of plain functions.

export function makeBus(report) {
  const channels = new Map();
  const failed = (e, channel) => { if (report) report(e, channel); };
  return {
    on(channel, f) {
      channels.set(channel, [...(channels.get(channel) ?? []), f]);
      return () => channels.set(channel, (channels.get(channel) ?? []).filter((x) => x !== f));
    },
    emit(channel, data) {
      for (const f of channels.get(channel) ?? []) {
        try {
          const r = f(data);
          if (typeof r?.then === "function") r.then(undefined, (e) => failed(e, channel));
        } catch (e) { failed(e, channel); }
      }
    },
    clear() { channels.clear(); },
  };
}
