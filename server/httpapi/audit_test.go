package httpapi

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agent-helm/agent-helm/server"
)

func TestAudit_tells_who_did_what(t *testing.T) {
	b := newBench(t)
	admin, other := b.browser(server.AllScopes), b.browser(server.ScopeRead)
	admin.do(http.MethodPatch, "/api/devices/"+other.device, map[string]any{"name": "Kitchen\u202e"}).is(http.StatusNoContent)
	admin.do(http.MethodDelete, "/api/devices/"+other.device, nil).is(http.StatusNoContent)
	var first, second struct {
		Items []AuditLine
		Next  *string
	}
	admin.get("/api/audit?action=device&limit=2").is(http.StatusOK).into(&first)
	if len(first.Items) != 2 || first.Items[0].Action != server.AuditDeviceRevoked || first.Items[0].Who != admin.device || first.Items[0].Target != other.device ||
		first.Items[1].Action != server.AuditDeviceRenamed || first.Items[1].Detail != "Pixel is now Kitchen" {
		t.Errorf("lines %+v", first.Items)
	}
	if first.Next == nil {
		t.Fatal("there is no second page")
	}
	admin.get("/api/audit?action=device&limit=2&cursor=" + *first.Next).is(http.StatusOK).into(&second)
	if len(second.Items) != 2 || second.Items[0].Action != server.AuditDevicePaired || second.Items[0].ID >= first.Items[1].ID {
		t.Errorf("second page %+v", second.Items)
	}
	admin.get("/api/audit?cursor=x").is(http.StatusUnprocessableEntity)
	var none struct{ Items []AuditLine }
	admin.get("/api/audit?who=nobody").is(http.StatusOK).into(&none)
	if none.Items == nil || len(none.Items) != 0 {
		t.Errorf("nobody did %+v", none.Items)
	}

	export := admin.get("/api/audit/export").is(http.StatusOK)
	lines := strings.Split(strings.TrimSpace(export.Body.String()), "\n")
	for i, line := range lines {
		var record server.AuditRecord
		if err := json.Unmarshal([]byte(line), &record); err != nil || record.ID != int64(len(lines)-i) {
			t.Errorf("line %d is %q: %v", i, line, err)
		}
	}
	if !strings.Contains(lines[0], server.AuditExported) || !strings.HasPrefix(export.Header().Get("Content-Disposition"), "attachment") {
		t.Errorf("the export begins with %q", lines[0])
	}
}

func TestDevices_revoke_all_others(t *testing.T) {
	b := newBench(t)
	admin, first, second := b.browser(server.AllScopes), b.browser(server.AllScopes), b.browser(server.ScopeRead)
	if got := b.fleet.announced; len(got) != 3 || got[2].ID != second.device || got[2].Name != "Pixel" || got[2].Current {
		t.Errorf("announced %+v", got)
	}
	var answer struct{ Revoked int }
	admin.post("/api/devices/revoke", nil).is(http.StatusOK).into(&answer)
	if answer.Revoked != 2 {
		t.Errorf("%d were revoked", answer.Revoked)
	}
	admin.get("/api/me").is(http.StatusOK)
	for _, gone := range []*caller{first, second} {
		gone.get("/api/me").is(http.StatusUnauthorized).refused(server.CodeRevoked)
	}
	// A device names itself; only an admin names others.
	reader := b.browser(server.ScopeRead)
	reader.do(http.MethodPatch, "/api/devices/"+reader.device, map[string]any{"name": "Mine"}).is(http.StatusNoContent)
	reader.do(http.MethodPatch, "/api/devices/"+admin.device, map[string]any{"name": "Mine"}).is(http.StatusForbidden)
	admin.do(http.MethodPatch, "/api/devices/"+reader.device, map[string]any{"name": "\x1b\u202e"}).is(http.StatusUnprocessableEntity)
	admin.do(http.MethodPatch, "/api/devices/"+first.device, map[string]any{"name": "Gone"}).is(http.StatusNotFound).refused(server.CodeUnknownDevice)
}

func TestGuest_watches_one_session_for_a_while(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		admin := b.browser(server.AllScopes)
		b.token(server.ScopeInput|server.ScopeRead).post("/api/sessions/"+sessionA+"/guests", map[string]any{}).is(http.StatusForbidden)
		admin.post("/api/sessions/nonsense/guests", map[string]any{}).is(http.StatusNotFound)
		admin.post("/api/sessions/"+sessionA+"/guests", map[string]any{"expires_ms": 1}).is(http.StatusUnprocessableEntity)
		var invited struct {
			URL       string
			OpenMS    int64 `json:"open_ms"`
			ExpiresMS int64 `json:"expires_ms"`
		}
		invite := func() string {
			admin.post("/api/sessions/"+sessionA+"/guests", map[string]any{"expires_ms": 30 * 60_000}).is(http.StatusCreated).into(&invited)
			_, ticket, _ := strings.Cut(invited.URL, "/#t=")
			return ticket
		}
		ticket := invite()
		if invited.OpenMS != 10*60_000 || invited.ExpiresMS != 30*60_000 || len(ticket) < 26 {
			t.Errorf("invited %+v", invited)
		}
		time.Sleep(9 * time.Minute)
		guest := b.opened(ticket)
		b.stranger().with("Origin", origin).post("/api/pair", map[string]string{"ticket": ticket, "name": "again"}).is(http.StatusGone).refused(server.CodeTicketUsed)
		var me struct {
			Bound     bool
			Scopes    []string
			Sessions  []server.SessionKey
			ExpiresMS int64 `json:"expires_ms"`
		}
		guest.get("/api/me").is(http.StatusOK).into(&me)
		if !me.Bound || len(me.Scopes) != 1 || len(me.Sessions) != 1 || me.Sessions[0].ID != sessionA || me.ExpiresMS != 21*60_000 {
			t.Errorf("the guest is %+v", me)
		}
		guest.get("/api/sessions/" + sessionA).is(http.StatusOK)
		guest.get("/api/sessions/" + sessionB).is(http.StatusNotFound).refused(server.CodeUnknownSession)
		guest.post("/api/sessions/"+sessionA+"/input", map[string]any{"text": "x"}).is(http.StatusForbidden)
		guest.get("/api/devices").is(http.StatusForbidden)
		guest.do(http.MethodPatch, "/api/devices/"+guest.device, map[string]any{"name": "Owner's phone"}).is(http.StatusForbidden)
		var listed struct{ Items []server.Device }
		admin.get("/api/devices").is(http.StatusOK).into(&listed)
		if len(listed.Items) != 2 || len(listed.Items[0].Sessions)+len(listed.Items[1].Sessions) != 1 {
			t.Errorf("devices %+v", listed.Items)
		}
		time.Sleep(21 * time.Minute)
		guest.get("/api/sessions/" + sessionA).is(http.StatusUnauthorized)
		admin.get("/api/me").is(http.StatusOK)

		late := invite()
		time.Sleep(10 * time.Minute)
		b.stranger().with("Origin", origin).post("/api/pair", map[string]string{"ticket": late, "name": "late"}).refused(server.CodeTicketInvalid)
	})
}
