// Receives Darkroom's callbacks and takes only what Darkroom signed. Go 1.22 or newer, no packages.
//
//	DARKROOM_WEBHOOK_SECRET=… PORT=3000 go run receiver.go
package main

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"os"
	"strconv"
	"time"
)

const (
	prefix       = "X-Darkroom"
	tolerance    = 300 * time.Second
	maxBodyBytes = 1_000_000
)

var secret = []byte(os.Getenv("DARKROOM_WEBHOOK_SECRET"))

// rawBody: the bytes as they came. Parsed and written anew, they would be others.
func isGenuine(header http.Header, rawBody []byte) bool {
	timestamp := header.Get(prefix + "-Timestamp")
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	// What somebody recorded is not taken again later.
	if err != nil || time.Since(time.Unix(seconds, 0)).Abs() > tolerance {
		return false
	}
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(timestamp + "."))
	mac.Write(rawBody)
	expected := mac.Sum(nil)
	// For a day after a rotation the key before signs too, in a header of its own.
	for _, name := range []string{"-Signature", "-Signature-Previous"} {
		given, err := hex.DecodeString(header.Get(prefix + name))
		if err == nil && hmac.Equal(given, expected) {
			return true
		}
	}
	return false
}

func receive(w http.ResponseWriter, r *http.Request) {
	rawBody, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBodyBytes))
	if err != nil {
		w.WriteHeader(http.StatusRequestEntityTooLarge)
		return
	}
	if !isGenuine(r.Header, rawBody) {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	var task struct {
		TaskID string `json:"taskId"`
		Status string `json:"status"`
	}
	if err := json.Unmarshal(rawBody, &task); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	// Answer within 10 seconds and work afterwards. The same task can come twice: do nothing the second time.
	w.WriteHeader(http.StatusNoContent)
	log.Println(task.TaskID, task.Status)
}

func main() {
	if len(secret) == 0 {
		log.Fatal("DARKROOM_WEBHOOK_SECRET is not set")
	}
	log.Fatal(http.ListenAndServe(":"+cmp.Or(os.Getenv("PORT"), "3000"), http.HandlerFunc(receive)))
}
