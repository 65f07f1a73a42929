"""German: stop words, and common words by how much they say about a page's subject."""

from __future__ import annotations

from typing import Final

STOP_WORDS: Final = """
    ab aber alle allem allen aller alles als also am an andere anderem anderen anderer anderes
    anders auch auf aus außer bei beide beiden beim bereits bevor bin bis bist bitte bzw da
    dabei dadurch dafür dagegen daher dahin damals damit danach daneben dann daran darauf daraus
    darf darin darum darunter darüber das dass davon davor dazu dein deine deinem deinen deiner
    dem den denen denn dennoch der deren derer des deshalb dessen desto deswegen dich die dies
    diese dieselbe dieselben diesem diesen dieser dieses dir doch dort du durch dürfen eben
    ebenso ein eine einem einen einer eines einige einigem einigen einiger einiges einmal
    entweder er es etwa etwas euch euer eure eurem euren eurer falls für gab ganz gar gegen
    gegenüber gehabt genau gewesen geworden gibt hab habe haben hat hatte hatten hier hin hinter
    hätte hätten ich ihm ihn ihnen ihr ihre ihrem ihren ihrer ihres im immer in indem innerhalb
    ins ist ja je jede jedem jeden jeder jedes jedoch jene jenem jenen jener jenes jetzt kann
    kannst kaum kein keine keinem keinen keiner keines konnte konnten können könnte könnten
    lassen lässt man manche manchem manchen mancher manches mehr mein meine meinem meinen meiner
    meist mich mir mit muss musste mussten möchte müssen nach nachdem nachher neben nicht nichts
    nie noch nun nur ob obwohl oder ohne sehr sein seine seinem seinen seiner seines seit selbst
    sich sie sind so sobald sogar solche solchem solchen solcher solches soll sollen sollte
    sollten somit sondern sonst soweit sowie sowohl statt trotz trotzdem um und uns unser unsere
    unserem unseren unserer unter usw viel viele vielen vieler vom von vor vorher wann warum was
    wegen weil weiter welche welchem welchen welcher welches wem wen wenig wenn wer werde werden
    weshalb wessen wie wieder wieso wieviel will wir wird wo wobei wodurch wofür woher wohin
    womit wonach worauf woraus worden worin wovon wozu wurde wurden während wäre wären würde
    würden z zu zum zur zwar zwischen über
"""
"""Say nothing about the subject; never indexed, never asked for."""

VERY_COMMON: Final = """
    abend allein allerdings allgemein alt amerikanisch amt anfang angabe angeben angebot anteil
    antwort anwenden anzahl arbeit art artikel arzt aufgabe aufgrund aufnehmen auge ausdruck
    aussage aussehen außerdem bau baum bedeuten begann beginn begriff beispiel beispielsweise
    bekannt bekommen bereich bericht beruf berühmt beschreiben beschrieben besitzen besonders
    besser bestand beste bestehen bestimmen bestimmt betrachten betragen betreffen beträgt
    bewegen bezeichnen bezug bild bisher bleiben blick blieb boden brachte brauchen breit brief
    bringen britisch buch bundesland bürger chef china christlich computer dachte damalig dame
    dank daten datum dauer denken deutlich deutsch deutschland dienen ding direkt doppelt dorf
    drei dritte druck dunkel durchführen durchschnitt echt ehemalig eher eigen eigenschaft
    eigentlich einfach einfluss einführen eingehen einheit einsatz einsetzen einwohner einzeln
    einzig element eltern ende endgültig endlich energie eng england englisch entdecken entdeckt
    entfernen entfernt enthalten entscheiden entsprechen entstand entstehen entwickeln
    entwicklung erde ereignis erfahren erfolg erfolgreich ergebnis erhalten erhielt erhöhen
    erinnern erkennen erklären erlauben erreichen erscheinen erschien erst erstellen erwarten
    erweitern erzählen essen europa existieren fahren fall falsch familie fand farbe fast fehlen
    feld fertig fest feststellen feuer film finden firma fließen fluss fläche folge folgend
    fordern form frage frankreich französisch frau frei freiheit freund früh funktion
    funktionieren fuß führen führend fünf gang ganze garten geben gebiet gebildet geboren
    gebracht gebrauch geburt gebäude gefahr gefallen gefunden gefühl gegend gegenstand gegründet
    geheim gehen gehören geist gekommen geld gelegen gelten gemacht gemeinde gemeinsam genannt
    genommen genug gering gesamt geschehen geschichte geschrieben gesehen gesellschaft gesetz
    gesicht gespräch gestorben gesund gewann gewinnen gewisse gewonnen gewöhnlich gilt ging
    glauben gleich gleichzeitig glück gold gott grad grenze griechisch groß grund grundlage
    gruppe grün gründung gut haar halb halten hand handel hart haupt hauptstadt haus heben
    heilig heiß helfen hell herr herrschaft herstellen herz heute heutig hielt hieß hilfe himmel
    hoch holen hund hundert hälfte hängen häufig höhe hören idee information insbesondere insel
    insgesamt institut interesse interessieren international irgend italien italienisch jahr
    jahrhundert jahrzehnt januar jeweilig jugend jung jährlich kaiser kalt kam kampf kannte
    karte katze kaufen kennen kilometer kind kirche klar klasse klein kommen kontrolle kopf
    kosten kraft krankheit krieg kultur kunst kurz könig königreich körper künstler küste lage
    land landschaft lang langsam laufen laut leben lebend legen lehre leicht leider leisten
    leistung leiten leitung lernen lesen letzte leute licht lieben lief liegen ließ linie links
    liste literatur london luft machen macht mal mann maschine material maß mehrere mehrheit
    meinung meiste melden menge mensch menschlich merken messen meter methode militärisch
    million minute mitglied mittag mitte mittel mittlere modell modern moment monat mond morgen
    mund musik mutter möglich müde nacht nah nahm name nannte nation national natur nehmen
    nennen neu neun niedrig niemand norden normal notwendig nummer nutzen nutzung nächste
    nördlich nützlich oben oberfläche objekt offen offiziell oft ordnung organisation ort osten
    paar papier paris park partei partner periode person pflanze physik plan platz plötzlich
    politik polizei position praktisch preis presse prinzip problem produkt produktion
    produzieren professor programm projekt provinz prozent prozess präsident prüfen punkt
    qualität quelle rahmen rand rate raum reagieren recht rede regel regelmäßig regieren
    regierung region regional reich reihe reise religion religiös rest richten richtig richtung
    rolle rot ruf ruhe ruhig rund russisch römisch sache sagen sagte sah sammeln satz schaffen
    schauen scheinen schicken schiff schlacht schlafen schlagen schlecht schließen schließlich
    schloss schnell schon schreiben schrieb schrift schritt schule schwach schwarz schwer
    schwester schwierig schützen sechs see seele sehen seite selten senden setzen sicher sicht
    sieben siehe singen sinn sitz sogenannt sohn soldat sonne sorgen sozial spanisch spiel
    spielte sprache sprechen spät staat staatlich stadt stammen stand starb stark starten stehen
    steigen stein stelle sterben stil stimme stoff straße strecke strom struktur student studie
    studium stufe stunde ständig stück suche system szene süden südlich tag tanz tat tatsächlich
    tausend technik teil teilnehmen teilweise temperatur tier tisch titel tochter tod ton tot
    tradition traditionell traf tragen trat treffen treten trinken trug tun typ typisch umfassen
    umgebung unabhängig ungefähr universität unten unternehmen unterricht unterscheiden
    unterschied unterstützen untersuchen ursache ursprung vater verbessern verbinden verbreiten
    verbunden verein vereinigt verfahren verfügen vergangen vergleich verhalten verhindern
    verhältnis verkaufen verlassen verlauf verlieren verlor vermeiden verschieden version
    verstehen versuch verwaltung verwenden verändern veränderung veröffentlichen vier viertel
    vogel volk voll vollständig voraus vorkommen vorn vorstellen vorteil völlig wachsen wagen
    wahl wahr wahrscheinlich wald wand ware warm warten wasser wechseln weg weib weise weit weiß
    welt wenden weniger werk wert wesentlich west westlich wetter wichtig wind winter wirken
    wirklich wirtschaft wissen wissenschaft wissenschaftler woche wohl wohnen wohnung wollen
    wollte wort wuchs wunsch wusste zahl zahlreich zehn zeichen zeichnen zeigen zeigte zeit
    zeitraum zeitschrift zeitung zentral zentrum zerstören ziehen ziel ziemlich zimmer zog
    zuerst zufolge zug zukunft zuletzt zunächst zurück zusammen zusammenhang zustand zusätzlich
    zwanzig zweck zwei zweite zwölf öffentlich öffnen österreich östlich üben überhaupt übernahm
    übernehmen übersetzen überzeugen üblich übrig
"""
"""On a large share of all pages: a match says little. One form per stem."""

COMMON: Final = """
    abbildung abbrechen abhängig abkommen ablauf ablehnen abschließen abschluss abschnitt
    absicht absolut abstand abteilung abweichen achten adel adresse afrika afrikanisch akademie
    akademisch akt aktie aktiv aktivität aktuell akzeptieren album alltag alternative amerika
    analyse analysieren anbieten anerkennen anforderung angehören angelegenheit angenehm
    angreifen angriff angst anhalten anhang ankommen ankunft anlage anlass anlegen anleitung
    annahme annehmen anordnung anpassen ansatz anschließend anschluss ansehen ansicht anspruch
    anstieg antike antrag antreten anwalt anweisung anzeige anzug apparat april arabisch
    arbeitsplatz architekt architektur argument arm armee asiatisch asien aspekt atlantik
    atmosphäre atom aufbau auffassung auffordern aufführen aufgeben aufhören auflage auflösen
    aufmerksamkeit aufnahme aufrufen aufstand aufstieg auftrag auftreten auftritt aufwachsen
    aufwand august ausbildung ausbreiten ausdehnung ausführen ausgabe ausgang ausgeben ausgehen
    ausland auslösen ausmachen ausnahme ausreichen ausrichten ausschließen ausschuss ausstattung
    ausstellung auswahl ausweisen auswirkung auszeichnung ausüben auto automatisch autor baby
    bad bahn bahnhof bald ball band bank basieren basis bauwerk bayern beachten beamte
    beantworten beauftragen bedarf bedeckt bedienen bedingung bedrohen bedürfnis beeinflussen
    beenden befehl befestigen befinden befreien begeben begegnen begleiten begrenzen begründen
    behalten behandeln behandlung behaupten behörde beibehalten bein beitrag bekämpfen belastung
    belegen belgien beliebt bemerken benachbart benennen benutzen benötigen beobachten beraten
    berechnen berechtigen berg berlin berücksichtigen beschließen beschluss beschränken
    beschäftigen beseitigen besetzen besiedeln besiegen besprechen bestandteil bestätigen besuch
    beteiligen betonen betreiben betrieb betroffen bett bevorzugen bevölkern bevölkerung
    bewahren beweis bewerten bewohner bewusst bezahlen beziehen bezirk bibliothek biegen bieten
    biologie bischof bitten blatt blau blei blind blume blut bord brasilien braun brechen
    brennen brot bruder brust brücke bund bundesrepublik bundesstaat bundestag bunt bus börse
    böse bühne bündnis büro chance charakter charakteristisch chemie chemisch chinesisch chor
    christ club code dach dauerhaft debatte decken definieren definition demokratie demokratisch
    denkmal derzeit design deutung dezember dicht dick dienstag differenz digital dimension
    diplom direktor diskussion diskutieren distrikt dokument dokumentation dom dominieren donau
    dorthin drehen dreißig dringend droge drohen drohung duft durchmesser dynamisch dänemark
    dünn ebene ecke ehe ehre ehrlich ei eidgenossenschaft eigentum eignen eile eindeutig
    eindruck einfall einfügen eingabe eingang eingeben eingesetzt eingreifen einheimisch einig
    einkaufen einkommen einladen einnahme einnehmen einrichten einschließen einschränken
    einschätzen einstellen einteilen eintrag eintreten einwanderer eis eisenbahn elektrisch
    elektron elf emotional empfangen empfehlen empfinden endlos engagieren enorm entfalten
    entgegen enthüllen entlang entlassen entlasten entnehmen entschluss entsetzt entspannen
    enttäuscht entwerfen entwurf epoche erbauen erbe erfassen erfinden erfordern erfüllen
    ergeben ergreifen ergänzen erheben erholen erlangen erlassen erleben erledigen erleichtern
    erlernen ermitteln ermöglichen ernennen erneut ernst ernte erobern eroberung erregen
    errichten ersatz erschließen ersetzen erstmals ertragen erwachsen erweisen erwerben erwähnen
    erwärmen erzeugen erziehen erzielen eröffnen ethnisch ewig exakt examen existenz experiment
    experte export extern extrem fabrik fach fachlich fahne fahrt fahrzeug faktor fangen
    fantasie fassung februar feier feiern fein feind fenster ferien fernsehen festival festlegen
    fett feucht figur finanziell finanzieren finger finnland fisch flagge fleisch fliegen flucht
    flug flughafen flugzeug flügel flüssig formal formel formulieren forscher forschung
    fortschritt fortsetzen foto frankfurt freitag fremd freude freuen freundlich frieden
    friedlich frisch front frucht fruchtbar frühling funktional funktionsweise furcht fußball
    fähig föderal fürst gabel galerie garantieren gas gast gebirge geburtstag gedanke gedicht
    geduld gedächtnis geeignet gefangen geflogen gefäß gegenwart gegner gehalt gehirn geistig
    geistlich gelangen gelb gelehrt gelernt gelingen gemischt gemälde gemüse gen genehmigen
    general generation genetisch genießen geographisch geologisch gerade gerecht gericht
    germanisch gerät gesandt gesang geschenk geschickt geschlecht geschlossen geschmack
    geschwindigkeit geschäft gestalt gestein gestern gesteuert getragen getreide getrennt gewalt
    gewerbe gewerkschaft gewicht gewähren gewährleisten gewässer gießen glas glatt gleichung
    glied global glücklich graben graf grau greifen grenzwert griechenland grob großbritannien
    großstadt grundgesetz grundlegend grundsatz grundschule grundstück hafen haft halle hals
    haltung hamburg handlung hauptsächlich haushalt haut heer heft heilen heim heimat heimlich
    heirat heizen held herausforderung herausgeben herausstellen herbst herkunft herrschen
    hervor hervorragend herzog hierbei hierfür hierzu hinaus hindern hingegen hinsicht
    hintergrund hinweis hinzufügen historiker hitze hochschule hof hoffen hoffnung holz
    horizontal hotel human hunger händler hügel ideal identifizieren identität ideologie
    immerhin import indien indirekt individuell individuum industrie industriell infolge
    ingenieur inhaber inhalt initiative innen innenstadt installation installieren instanz
    institution instrument integration integrieren intelligent intelligenz intensiv interessant
    intern internet interpretation interpretieren interview investieren investition iran irland
    islam israel jagd jahreszeit japan journalist jude juli juni jura jüdisch kabel kaiserreich
    kalender kamera kamm kampagne kanada kanal kandidat kapital kapitel karl karriere kasse
    kategorie katholisch kehren keller kern kette kirchlich klage klang klassisch kleidung klima
    klingen klinik kloster klub knapp knochen kochen kohle kollege kolonie kombination
    kombinieren komisch kommando kommentar kommission kommunikation kommunistisch kompliziert
    komponente komponist konferenz konfiguration konfigurieren konflikt konkret konkurrenz
    konsequenz konservativ konstant konstruktion kontakt kontext kontinent konto kontrollieren
    konzentration konzentrieren konzept konzert kooperation kopie korrekt kostenlos krank
    krankenhaus kreis kreuz kriminell krise kritik kritisch kritisieren krone kugel kulturell
    kunde kurs kurve küche kühl kündigen künftig künstlich labor lachen laden landkreis
    landwirtschaft last lateinisch laufend lautstärke lebensmittel lebensraum leer lehnen
    leidenschaft leistungsfähig lektion lesbar letztlich leuchten liberal lied liga lineal liter
    literarisch lizenz lob locker logik logisch lohn ludwig lust ländlich löschen lösen lösung
    lücke magazin magnetisch mai mailand malerei mangel manuell marine marke markieren markt
    massiv mathematik mauer maximal maßnahme mechanisch medien medikament medizin meer mehrfach
    meile meldung menschheit menü merkmal messung metall mexiko migration mild milliarde minder
    mindestens mineral minimal minister ministerium mischen mischung missbrauch mission
    mitarbeiter miteinander mitteilen mittelalter mittelmeer mittwoch mobil moderat modul
    molekül monarchie montag moralisch mord motiv motor museum muskel muslimisch muster mut
    muttersprache mythologie mädchen märz münchen mündlich münze nachbar nachfolge nachfrage
    nachmittag nachricht nachteil nachweis nadel nahrung nass nationalität nebenfluss negativ
    neigen nerven netz netzwerk neugier neuzeit nieder niederlage niederlande niederlassen
    niederschlag niveau norm normalerweise norwegen note notiz november nuklear obere oberhalb
    oberhaupt obst offenbar offizier ohr oktober olympisch oper operation operieren opfer
    optimal option optisch orden ordnen organ organisieren orientieren orientierung original
    ostsee ozean pack paket palast panzer papst parallel parameter parlament passagier passen
    passieren passiv passwort patient pause pazifik personal perspektive pfad pferd pflege
    pflicht phase philosoph philosophie physikalisch physisch phänomen planet planung platte
    plattform plus polen polnisch populär portugal portugiesisch positiv post potenzial praxis
    preußen preußisch priester primär prinz privat probe produzent profil profitieren prognose
    programmieren programmiersprache propaganda protein protest protestantisch protokoll
    präsentieren präzise psychisch psychologie publikation publikum pumpe python quadrat
    quadratkilometer quer quote rad radikal radio rang rasch rational rauch reaktion real
    realisieren realität rechnen rechnung rechtfertigen rechtlich rechtzeitig reduzieren
    referenz reform reformation regen regime regisseur register reihenfolge rein reiz relativ
    relevant rennen rente reparieren republik reservieren resultat retten revolution rhein
    riesig ring risiko ritter rohstoff rom roman rumänien russland räumlich rücken rückkehr
    rücksicht rückzug saal sachsen saison salz sammlung samstag sand sanft satellit schaden
    schallplatte scharf schatten schauspieler scheitern schema schicht schicksal schießen schild
    schlange schlimm schlüssel schmal schmerz schmutzig schnee schneiden schnitt schottland
    schriftlich schriftsteller schräg schuld schulter schwanken schweden schweigen schweiz
    schwerpunkt schwert schwimmen schädlich schätzen segel sehnen sekunde selbstverständlich
    selbständig senat senken sensibel september serie server seuche sichtbar siedeln siedler
    siedlung sieg signal silber sinken sinnvoll situation sitzung sklave software solange sommer
    sonder sonntag sorgfältig sorte souverän sowjetisch sowjetunion sozialistisch spalte spanien
    spannung sparen spaß speicher speise spezialisieren speziell spezies spezifisch spiegel
    spitze spontan sport sportler sportlich sprachlich springen spüren staatsbürger stabil
    stadtteil stahl standard standort station statistik stattfinden status stecken stellung
    stern stetig steuer stiften stiftung still stimmung stolz stoppen strafe strahl strand
    strategie streben streifen streit strikt sturm stören stürzen subjektiv summe symbol symptom
    synthese sänger säule tabelle tafel tagebuch tal talent tasche taste taufe tauschen
    technisch technologie tee teilnahme telefon tempel tempo tendenz term terrorismus test teuer
    text theater thema theoretisch theorie these tief tor touch tour tourismus tourist training
    transport transportieren traum treiben trend trennen trennung treppe treu trocken tropisch
    truppe tschechisch turm tätig tödlich tür türkei türkisch ufer uhr umfang umfangreich umfeld
    umgehen umgekehrt umsatz umsetzen umstand umwandeln umwelt unbedingt unbekannt ungarn
    ungewöhnlich union universum unmittelbar unmöglich unnötig unterbrechen untergang unterhalb
    unterhalten unterliegen unterordnen unterstellen unterwegs unterzeichnen urlaub urteil usa
    variable variante variieren venedig verantwortlich verarbeiten verband verbieten verbleiben
    verboten verbrauch verbrechen verbringen verdanken verdienen vereinbaren verfallen verfassen
    verfolgen verfügbar vergeben vergessen vergrößern verhaften verhandeln verhandlung verkehr
    verlag verlangen verlegen verleihen verletzen verlust vermehren vermeintlich vermitteln
    vermuten vermögen vernichten vernunft verpflichten verringern versammlung verschieben
    verschlechtern verschwinden versichern versicherung versorgen versprechen verstand
    verstecken verstoßen verstärken verteidigen verteilen vertrag vertrauen vertreiben vertreten
    verursachen verurteilen verwandeln verwandt verweigern verweis verwirklichen verzeichnen
    verzeichnis verzichten veröffentlichung video vielfalt vielleicht vierte virus visuell
    volumen voraussetzung vorbei vorbereiten vorbild vordere vordergrund vorfahren vorgang
    vorgehen vorhanden vorherrschen vorig vorlegen vorlesung vorläufig vornehmen vorschlag
    vorschrift vorsichtig vorsitzende vortrag vorwiegend vorwurf vorzeitig wache wachstum waffe
    wahrheit wahrnehmen wandel warnung waschen weder weich weigern weihnachten wein weitergehen
    weiterhin weitgehend weltkrieg weltweit werben werbung werfen werkzeug wesen wettbewerb
    widersprechen widerstand widmen wiederholen wiese wild wille wirksam wirkung witz wohlstand
    wolf wolke wunder wunderbar wurzel währung wüste zahn zart zeile zeitlich zeitpunkt zelle
    zensieren zeuge zieht zitat zitieren zivil zone zucker zufall zufrieden zugang zugeben
    zugehörig zugleich zugreifen zugriff zugrunde zulassen zunahme zunehmen zuordnen
    zusammenarbeit zusammenfassen zusammensetzen zuschauer zusehen zustimmen zuverlässig zuvor
    zuweisen zwang zweifel zweig zwingen zyklus ähnlich äußern äußerst öffnung öl übel überall
    überblick überfall überfluten übergang übergeben überleben überlegen übermitteln überprüfen
    überraschen überschreiten übersicht übertragen überwachen überwiegend überwinden übung
"""
"""On many pages: a match says something. One form per stem; a word in no list says most."""
